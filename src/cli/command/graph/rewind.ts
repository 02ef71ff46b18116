// `holdfast rewind`: takes an ended or paused graph run back to a node it visited.

import { openGraphs } from "../../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { CommandMisused } from "../../error.js";
import { findRun } from "../../find-run.js";
import { FIELDS_OPTION } from "../../options.js";
import { visible } from "../../text/visible.js";

const OPTIONS = {
  to: {
    type: "string",
    value: "NODE",
    description: "the node to resume at: its last visit, or a specific one: plan:2, research/plan:1.2",
  },
  why: { type: "string", value: "TEXT", description: "the reason, recorded in the journal" },
  state: FIELDS_OPTION,
} as const satisfies Options;

export const rewind = defineCommand({
  name: "rewind",
  takes: ["RUN"],
  summary: "take an ended or paused graph run back to a node it visited",
  details: "The run resumes there. Who did it and why are recorded in its journal.",
  options: OPTIONS,
  run: rewindRun,
});

async function rewindRun(call: Call<typeof OPTIONS>): Promise<Report> {
  const { to, why, state } = call.values;
  if (to === undefined || why === undefined) throw new CommandMisused("rewind needs --to NODE and --why TEXT");
  const run = await findRun(call, call.arguments[0]!);
  await (await openGraphs(call)).rewindRun(run.id, { to, why, by: call.actor, ...(state && { state }) });
  return { text: `Run ${run.id} resumes at ${visible(to)}.\n`, json: { runId: run.id, to, by: call.actor } };
}

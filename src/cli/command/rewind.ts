// `holdfast rewind`: takes a failed graph run back to a node it visited.

import { openGraphs } from "../client-place.js";
import type { Call, Command, Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { findRun } from "../find-run.js";
import { stateOption, textOption } from "../options.js";
import { visible } from "../text/visible.js";

export const rewind: Command = {
  name: "rewind",
  takes: ["RUN"],
  summary: "take a failed graph run back to a node it visited",
  details: "The run resumes there. Who did it and why are recorded in its journal.",
  options: {
    to: {
      type: "string",
      value: "NODE",
      description: "the node to resume at: its last visit, or a specific one: plan:2",
    },
    why: { type: "string", value: "TEXT", description: "the reason, recorded in the journal" },
    state: { type: "string", value: "JSON", description: "state fields to override" },
  },
  run: rewindRun,
};

async function rewindRun(call: Call): Promise<Report> {
  const [to, why] = [textOption(call.values, "to"), textOption(call.values, "why")];
  if (to === undefined || why === undefined) throw new CommandMisused("rewind needs --to NODE and --why TEXT");
  const state = stateOption(call);
  const run = await findRun(call, call.arguments[0]!);
  await (await openGraphs(call)).rewindRun(run.id, { to, why, by: call.actor, ...(state && { state }) });
  return { text: `Run ${run.id} resumes at ${visible(to)}.\n`, json: { runId: run.id, to, by: call.actor } };
}

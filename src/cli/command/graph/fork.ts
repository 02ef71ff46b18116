// `holdfast fork`: starts a new graph run at a node of an old one.

import { openGraphs } from "../../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { CommandMisused } from "../../error.js";
import { findRun } from "../../find-run.js";
import { FIELDS_OPTION } from "../../options.js";
import { visible } from "../../text/visible.js";

const OPTIONS = {
  from: {
    type: "string",
    value: "NODE",
    description: "the node to begin at: its last visit, or a specific one: plan:2",
  },
  state: FIELDS_OPTION,
} as const satisfies Options;

export const fork = defineCommand({
  name: "fork",
  takes: ["RUN"],
  summary: "start a new graph run at a node that an old run visited",
  details: "The old run is unchanged. `holdfast diff` compares the two.",
  options: OPTIONS,
  run: forkRun,
});

async function forkRun(call: Call<typeof OPTIONS>): Promise<Report> {
  const { from, state } = call.values;
  if (from === undefined) throw new CommandMisused("fork needs --from NODE");
  const run = await findRun(call, call.arguments[0]!);
  const forked = await (await openGraphs(call)).forkRun(run.id, { from, by: call.actor, ...(state && { state }) });
  const text = `Run ${forked.id} begins at ${visible(from)} of run ${run.id}.\n`;
  return { text, json: { runId: forked.id, of: run.id, from } };
}

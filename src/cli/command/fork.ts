// `holdfast fork`: a new run that begins with a node of an old one.

import type { Call, Command, Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { findRun } from "../find-run.js";
import { openGraphs, stateOption } from "../open-graphs.js";
import { textOption } from "../options.js";
import { visible } from "../text/visible.js";

export const fork: Command = {
  name: "fork",
  takes: ["RUN"],
  summary: "start a new run of a graph from a node that an old one came to",
  details: "The old run is left as it is. `holdfast diff` shows where the two went.",
  options: {
    from: { type: "string", value: "NODE", says: "the node to begin with; its last visit, or say which: plan:2" },
    state: { type: "string", value: "JSON", says: "fields of the state that are set to something else" },
  },
  run: forkRun,
};

async function forkRun(call: Call): Promise<Report> {
  const from = textOption(call.values, "from");
  if (from === undefined) throw new CommandMisused("fork needs --from NODE");
  const state = stateOption(call);
  const store = await call.store();
  const run = await findRun(store, call.env, call.arguments[0]!);
  const forked = await openGraphs(call, store).forkRun(run.id, { from, by: call.actor, ...(state && { state }) });
  const text = `Run ${forked.id} begins with ${visible(from)} of run ${run.id}.\n`;
  return { text, json: { runId: forked.id, of: run.id, from } };
}

// `holdfast update`: changes fields of a live graph run's state.

import { openGraphs } from "../../client-place.js";
import { type Call, defineCommand, type Report } from "../../command.js";
import { findRun } from "../../find-run.js";
import { parseFields } from "../../options.js";
import { expectGraph } from "./known-graph.js";

export const update = defineCommand({
  name: "update",
  takes: ["RUN", "JSON"],
  summary: "change fields of a live graph run's state",
  details:
    "The fields pass the graph's reducers and count before its next node begins. What a reducer refuses is recorded and dropped.",
  options: {},
  run: updateState,
});

async function updateState(call: Call): Promise<Report> {
  const [runText, json] = call.arguments;
  const fields = parseFields(json!, "The fields", `'{"topic":"tea"}'`);
  const { id, group } = await findRun(call, runText!);
  await expectGraph(call, group.program);
  await (await openGraphs(call)).updateRun(id, fields, call.actor);
  return { text: `Run ${id} has the update; it counts before its next node begins.\n`, json: { runId: id, fields } };
}

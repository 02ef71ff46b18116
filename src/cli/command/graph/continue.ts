// `holdfast continue`: starts the next run of a graph's thread.

import { openGraphs } from "../../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { parseJson } from "../../options.js";
import { visible } from "../../text/visible.js";
import { BREAKPOINT_OPTIONS, breakpointsOf } from "./breakpoints.js";
import { knownGraph } from "./known-graph.js";

const OPTIONS = {
  queue: { type: "string", value: "Q", description: "the queue; default: the name of the graph" },
  ...BREAKPOINT_OPTIONS,
} as const satisfies Options;

export const continueThread = defineCommand({
  name: "continue",
  takes: ["GRAPH", "THREAD", "[JSON]"],
  summary: "start the next run of a graph's thread",
  details: "It begins with the state that the last run of the thread ended with. JSON is the input.",
  options: OPTIONS,
  run: startNext,
});

async function startNext(call: Call<typeof OPTIONS>): Promise<Report> {
  const [graph, thread, json] = call.arguments;
  const input = json === undefined ? undefined : parseJson(json, "The input", `'{"id": 1}'`);
  const known = await knownGraph(call, graph!, call.values.queue);
  const breakpoints = breakpointsOf(call.values);
  const options = breakpoints ? { breakpoints } : {};
  const { id } = await (await openGraphs(call)).continueRun(known, thread!, input, options);
  return { text: `Run ${id} continues ${visible(thread!)}.\n`, json: { runId: id, graph: known.name, thread } };
}

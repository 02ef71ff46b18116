// `holdfast start`: starts a run of a program, known by its name.

import { lacksCapableNode } from "../../client/capable-node.js";
import { createClient } from "../../client/create-client.js";
import type { Duration } from "../../kernel/duration.js";
import type { AnyDefinition } from "../../program/definition.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { ATTRIBUTES_OPTION, parseJson } from "../options.js";
import { BREAKPOINT_OPTIONS, breakpointsOf } from "./graph/breakpoints.js";
import { knownGraph } from "./graph/known-graph.js";

const OPTIONS = {
  key: { type: "string", value: "K", description: "start once under this key" },
  queue: { type: "string", value: "Q", description: "the queue; default: the name of the program" },
  delay: { type: "string", value: "D", description: "claimable after this time, like 10m" },
  priority: { type: "string", value: "N", description: "lower runs first; default: 0", parse: priorityOf },
  stack: { type: "string", value: "NAME", description: "in this stack; default: any" },
  attribute: ATTRIBUTES_OPTION,
  ...BREAKPOINT_OPTIONS,
} as const satisfies Options;

export const start = defineCommand({
  name: "start",
  takes: ["PROGRAM", "[JSON]"],
  summary: "start a run of a program",
  details:
    "JSON is the input. The program is known by its name only: a schema of its code does not see the input. With --key, the same\n" +
    "start again returns the existing run. A graph pauses at the nodes of --before and --after, and `holdfast resume` continues it.",
  options: OPTIONS,
  run: startRun,
});

/** The store refuses what is no priority. */
function priorityOf(text: string): number {
  return Number(text);
}

async function startRun(call: Call<typeof OPTIONS>): Promise<Report> {
  const [program, json] = call.arguments;
  const input = json === undefined ? undefined : parseJson(json, "The input", `'{"id": 1}'`);
  const { key, queue, delay, priority, stack, attribute: attributes } = call.values;
  const store = await call.store();
  const place = { store, env: call.env, ...(stack !== undefined && { stack }) };
  const client = createClient<readonly AnyDefinition[]>(place, call.world);
  const options = {
    ...(key !== undefined && { key }),
    ...(delay !== undefined && { delay: delay as Duration }),
    ...(priority !== undefined && { priority }),
    ...(attributes && { attributes }),
  };
  const breakpoints = breakpointsOf(call.values);
  const { id } = breakpoints
    ? await client.graphs.startRun(await knownGraph(call, program!, queue), input, { ...options, breakpoints })
    : await client.start(program!, input, { ...options, ...(queue !== undefined && { queue }) });
  const run = await store.runs.get(id);
  const noCapableNode = run !== null && lacksCapableNode(run, await store.nodes.list({ env: call.env }));
  const lacks = noCapableNode ? `No live node has ${program}: it waits for one.\n` : "";
  return { text: `Run ${id} was started.\n${lacks}`, json: { runId: id, program, noCapableNode } };
}

// `holdfast backfill`: one run of a program for each interval of a range; the same call again shows how far it is.

import { createClient } from "../../client/create-client.js";
import type { Duration } from "../../kernel/duration.js";
import { RUN_STATES } from "../../kernel/run/run-state.js";
import type { AnyDefinition } from "../../program/definition.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { parseFields, wholeNumber } from "../options.js";

const OPTIONS = {
  name: { type: "string", value: "TEXT", description: "names the backfill: the same name continues it" },
  from: { type: "string", value: "TIME", description: "the start of the first interval, like 2026-01-01" },
  to: { type: "string", value: "TIME", description: "no interval begins at or after it" },
  every: { type: "string", value: "D", description: "the length of an interval, like 1d" },
  input: {
    type: "string",
    value: "JSON",
    description: "more fields of the input",
    parse: (text: string): object => parseFields(text, "--input", `'{"table":"orders"}'`),
  },
  concurrency: {
    type: "string",
    value: "N",
    description: "runs at work at once, in the whole cluster; default: 1",
    parse: (text: string): number => wholeNumber("concurrency", text, { from: 1, to: 100_000 }),
  },
  "latest-first": { type: "boolean", description: "begin at the end of the range" },
  queue: { type: "string", value: "Q", description: "the queue; default: the name of the program" },
} as const satisfies Options;

export const backfill = defineCommand({
  name: "backfill",
  takes: ["PROGRAM"],
  summary: "start one run for each interval of a range",
  details:
    "The input of each run is { from, to }, the interval as ISO times, with the fields of --input. The same call again starts what\n" +
    "is missing, and shows the progress.",
  options: OPTIONS,
  run: fill,
});

async function fill(call: Call<typeof OPTIONS>): Promise<Report> {
  const { name, from, to, every, input, concurrency, queue } = call.values;
  if (name === undefined || from === undefined || to === undefined || every === undefined)
    throw new CommandMisused("backfill needs --name, --from, --to and --every");
  const [program] = call.arguments;
  const client = createClient<readonly AnyDefinition[]>({ store: await call.store(), env: call.env }, call.world);
  const filling = await client.backfill(program!, {
    name,
    from,
    to,
    every: every as Duration,
    latestFirst: call.values["latest-first"] === true,
    input: (begin: Date, end: Date) => ({ ...input, from: begin.toISOString(), to: end.toISOString() }),
    ...(concurrency !== undefined && { concurrency }),
    ...(queue !== undefined && { queue }),
  });
  const { total, ended, states, troubled } = await filling.progress();
  const counts = RUN_STATES.flatMap((state) => (states[state] ? [`${states[state]} ${state}`] : [])).join(", ");
  const lines = troubled.map(({ from: begin, runId, state }) => `  ${begin.toISOString()}  ${runId}  ${state}\n`);
  return {
    text: `${ended} of ${total} runs have ended: ${counts}\n${lines.join("")}`,
    json: {
      name,
      program,
      total,
      ended,
      states,
      troubled: troubled.map((one) => ({ ...one, from: one.from.toISOString() })),
    },
  };
}

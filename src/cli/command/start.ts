// `holdfast start`: starts a run of a program, known by its name.

import { createClient } from "../../client/create-client.js";
import type { Duration } from "../../kernel/duration.js";
import type { AnyDefinition } from "../../program/definition.js";
import type { Call, Command, Report } from "../command.js";
import { attributesOption, parseJson, textOption } from "../options.js";

export const start: Command = {
  name: "start",
  takes: ["PROGRAM", "[JSON]"],
  summary: "start a run of a program",
  details:
    "JSON is the input. The program is known by its name only: a schema of its code does not see the input. With --key, the same\n" +
    "start again returns the existing run.",
  options: {
    key: { type: "string", value: "K", description: "start once under this key" },
    queue: { type: "string", value: "Q", description: "the queue; default: the name of the program" },
    delay: { type: "string", value: "D", description: "claimable after this time, like 10m" },
    priority: { type: "string", value: "N", description: "lower runs first; default: 0" },
    stack: { type: "string", value: "NAME", description: "in this stack; default: any" },
    attribute: { type: "string", value: "A=V", description: "search attributes, separated by commas" },
  },
  run: startRun,
};

async function startRun(call: Call): Promise<Report> {
  const [program, json] = call.arguments;
  const input = json === undefined ? undefined : parseJson(json, "The input", `'{"id": 1}'`);
  const text = (name: string) => textOption(call.values, name);
  const [key, queue, delay, priority, stack] = ["key", "queue", "delay", "priority", "stack"].map(text);
  const attributes = attributesOption(call.values);
  const store = await call.store();
  const place = { store, env: call.env, ...(stack !== undefined && { stack }) };
  const client = createClient<readonly AnyDefinition[]>(place, call.world);
  const { id } = await client.start(program!, input, {
    ...(key !== undefined && { key }),
    ...(queue !== undefined && { queue }),
    ...(delay !== undefined && { delay: delay as Duration }),
    ...(priority !== undefined && { priority: Number(priority) }),
    ...(attributes && { attributes }),
  });
  return { text: `Run ${id} was started.\n`, json: { runId: id, program } };
}

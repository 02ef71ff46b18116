// What the compiler knows of a command: its options give `call.values` their types, and a name that is not declared is an error.

import { type Call, defineCommand, type Options, type Values } from "../../src/cli/command.js";
import { LIMIT_OPTION, statesOption } from "../../src/cli/options.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <_A, _B>(_is: Same<_A, _B>) => {};

const OPTIONS = {
  name: { type: "string", description: "a text" },
  quiet: { type: "boolean", description: "a flag" },
  limit: LIMIT_OPTION,
  state: statesOption(["failed", "dead"]),
} as const satisfies Options;

type Given = Values<typeof OPTIONS>;
same<Given["name"], string | undefined>(true);
same<Given["quiet"], boolean | undefined>(true);
same<Given["limit"], number | undefined>(true);
same<Given["state"], readonly ("failed" | "dead")[] | undefined>(true);

async function run({ values }: Call<typeof OPTIONS>) {
  // @ts-expect-error No option has this name.
  void values.nmae;
  const json: boolean | undefined = values.json;
  return { text: `${values.name?.length} ${json}\n`, json: { limit: values.limit?.toFixed() } };
}

export const typed = defineCommand({ name: "typed", takes: [], summary: "a command", options: OPTIONS, run });

export const inferred = defineCommand({
  name: "inferred",
  takes: ["RUN"],
  summary: "a command whose options are written in place",
  options: { port: { type: "string", description: "a number", parse: Number } },
  run: async ({ values: { port } }) => {
    same<typeof port, number | undefined>(true);
    return { text: "", json: { port } };
  },
});

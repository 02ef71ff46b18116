// The options common to all commands, and parsers for option values.

import { type Attribute, type Attributes, attributesOf } from "../kernel/run/attribute.js";
import { RUN_STATES, type RunState } from "../kernel/run/run-state.js";
import type { Call, CommandOption } from "./command.js";
import { CommandMisused } from "./error.js";
import type { Paint } from "./text/paint.js";

export const COMMON_OPTIONS: Readonly<Record<string, CommandOption>> = {
  url: { type: "string", value: "URL", description: "the database; default: HOLDFAST_DATABASE_URL, then DATABASE_URL" },
  schema: { type: "string", value: "NAME", description: "the schema that holds the tables; default: holdfast" },
  env: {
    type: "string",
    value: "NAME",
    description: "the isolated namespace in that schema; default: HOLDFAST_ENV, then default",
  },
  json: { type: "boolean", description: "print one JSON document, on the last line" },
  help: { type: "boolean", short: "h", description: "this text" },
};

export const WATCH_OPTION: CommandOption = { type: "boolean", description: "repeat every second, until ctrl-c" };

export const LIMIT_OPTION: CommandOption = {
  type: "string",
  value: "N",
  description: "at most N runs, up to 1000; default: 20",
};
const DEFAULT_LIMIT = 20;
const LARGEST_LIMIT = 1000;

type Values = Call["values"];

export function textOption(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}

export function limitOption(values: Values): number {
  const text = textOption(values, "limit");
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LARGEST_LIMIT) {
    throw new CommandMisused(`--limit must be a whole number from 1 to ${LARGEST_LIMIT}, not ${JSON.stringify(text)}`);
  }
  return limit;
}

/** Printed below a list that was cut off at the limit. */
export function moreText(next: string | null, limit: number, paint: Paint): string {
  return next === null ? "" : `${paint(`The newest ${limit} are shown; --limit shows more.`, "dim")}\n`;
}

/** `what` names the value; `example` shows how to write it in a shell. */
export function parseJson(text: string, what: string, example: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandMisused(`${what} is not valid JSON. Write it like ${example}.`);
  }
}

export function parseFields(text: string, what: string, example: string): object {
  const value = parseJson(text, what, example);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new CommandMisused(`${what} must be a JSON object, like ${example}`);
}

/** State fields of a graph, from `--state '{"topic":"tea"}'`. */
export function stateOption({ values }: Call): object | undefined {
  const json = textOption(values, "state");
  return json === undefined ? undefined : parseFields(json, "--state", `'{"topic":"tea"}'`);
}

/** The first argument of a command with verbs; undefined if it is omitted. */
export function verbOf<V extends string>(
  { arguments: [word] }: Call,
  command: string,
  verbs: readonly V[],
): V | undefined {
  const verb = verbs.find((known) => known === word);
  if (verb === undefined && word !== undefined)
    throw new CommandMisused(`unknown verb ${JSON.stringify(word)} of ${command}; the verbs are ${verbs.join(", ")}`);
  return verb;
}

/** `region=eu,cents=300`: a number or a boolean where it reads as one, a text otherwise or in quotes. */
export function attributesOption(values: Values): Attributes | undefined {
  const text = textOption(values, "attribute");
  if (text === undefined) return undefined;
  const pairs = text.split(",").map((pair) => {
    const [, name, value] = /^([^=]+)=(.+)$/.exec(pair.trim()) ?? [];
    if (name === undefined || value === undefined)
      throw new CommandMisused(`--attribute must be like region=eu,cents=300, not ${JSON.stringify(pair)}`);
    return [name, scalarOf(value)] as const;
  });
  return attributesOf(Object.fromEntries(pairs), "--attribute");
}

function scalarOf(text: string): Attribute {
  if (!/^(true|false|-?\d+(\.\d+)?|".*")$/.test(text)) return text;
  return parseJson(text, "--attribute", "region=eu") as Attribute;
}

/** One state, or several separated by commas. */
export function statesOption(values: Values): readonly RunState[] | undefined {
  const text = textOption(values, "state");
  return text?.split(",").map((name) => {
    const state = RUN_STATES.find((known) => known === name.trim());
    if (state) return state;
    throw new CommandMisused(`--state ${JSON.stringify(name)} is not a state; the states are ${RUN_STATES.join(", ")}`);
  });
}

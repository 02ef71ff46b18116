// The options common to all commands, and parsers for option values.

import { type Attribute, type Attributes, attributesOf } from "../kernel/run/attribute.js";
import type { RunState } from "../kernel/run/run-state.js";
import type { CommandOption, CommonValues } from "./command.js";
import { CommandMisused } from "./error.js";
import type { Paint } from "./text/paint.js";

export const COMMON_OPTIONS = {
  url: { type: "string", value: "URL", description: "the database; default: HOLDFAST_DATABASE_URL, then DATABASE_URL" },
  schema: { type: "string", value: "NAME", description: "the schema that holds the tables; default: holdfast" },
  env: {
    type: "string",
    value: "NAME",
    description: "the isolated namespace in that schema; default: HOLDFAST_ENV, then default",
  },
  json: { type: "boolean", description: "print one JSON document, on the last line" },
} satisfies Record<keyof CommonValues, CommandOption>;

export const WATCH_OPTION = { type: "boolean", description: "repeat every second, until ctrl-c" } as const;

export const YES_OPTION = { type: "boolean", description: "do not ask; needed where no person can answer" } as const;

export const PROGRAM_OPTION = { type: "string", value: "NAME", description: "only runs of this program" } as const;

const DEFAULT_LIMIT = 20;
const LARGEST_LIMIT = 1000;

export const LIMIT_OPTION = {
  type: "string",
  value: "N",
  description: `at most N, up to ${LARGEST_LIMIT}; default: ${DEFAULT_LIMIT}`,
  parse: (text: string): number => wholeNumber("limit", text, { from: 1, to: LARGEST_LIMIT }),
} as const;

export function limitOf({ limit = DEFAULT_LIMIT }: { readonly limit: number | undefined }): number {
  return limit;
}

/** The value of `--name`; digits only. */
export function wholeNumber(name: string, text: string, { from, to }: { from: number; to: number }): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (number >= from && number <= to) return number;
  throw new CommandMisused(`--${name} must be a whole number from ${from} to ${to}, not ${JSON.stringify(text)}`);
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
export const FIELDS_OPTION = {
  type: "string",
  value: "JSON",
  description: "state fields to override",
  parse: (text: string): object => parseFields(text, "--state", `'{"topic":"tea"}'`),
} as const;

/** The first argument of a command with verbs; undefined if it is omitted. Only the list is watched. */
export function verbOf<V extends string>(
  { arguments: [word], values }: { arguments: readonly string[]; values: { readonly watch?: unknown } },
  command: string,
  verbs: readonly V[],
): V | undefined {
  const verb = verbs.find((known) => known === word);
  if (verb === undefined && word !== undefined)
    throw new CommandMisused(`unknown verb ${JSON.stringify(word)} of ${command}; the verbs are ${verbs.join(", ")}`);
  if (verb !== undefined && values.watch) throw new CommandMisused(`--watch repeats a list, not ${command} ${verb}`);
  return verb;
}

/** `region=eu,cents=300`: a number or a boolean where it reads as one, a text otherwise or in quotes. */
export const ATTRIBUTES_OPTION = {
  type: "string",
  value: "A=V",
  description: "search attributes, separated by commas",
  parse: (text: string): Attributes => {
    const pairs = text.split(",").map((pair) => {
      const [, name, value] = /^([^=]+)=(.+)$/.exec(pair.trim()) ?? [];
      if (name === undefined || value === undefined)
        throw new CommandMisused(`--attribute must be like region=eu,cents=300, not ${JSON.stringify(pair)}`);
      return [name, scalarOf(value)] as const;
    });
    return attributesOf(Object.fromEntries(pairs), "--attribute");
  },
} as const;

function scalarOf(text: string): Attribute {
  if (!/^(true|false|-?\d+(\.\d+)?|".*")$/.test(text)) return text;
  return parseJson(text, "--attribute", "region=eu") as Attribute;
}

/** One of these states, or several separated by commas. */
export function statesOption<S extends RunState>(states: readonly S[]) {
  return {
    type: "string",
    value: "S",
    description: `only in this state, or in several separated by commas: ${states.join(", ")}`,
    choices: states,
    parse: (text: string): readonly S[] =>
      text.split(",").map((name) => {
        const state = states.find((known) => known === name.trim());
        if (state) return state;
        throw new CommandMisused(`--state ${JSON.stringify(name)} is not one of ${states.join(", ")}`);
      }),
  } as const;
}

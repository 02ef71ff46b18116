// Parses a program's input with its schema once, when a run is started; the output is stored.

import { isThenable, UNAWAITED } from "../kernel/codec/json-prepare.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { Schema, SchemaIssue, Validated } from "./schema.js";

/** The schema rejected the input. Nothing was started. */
export class InputRefused extends HoldfastError {
  readonly code = "INPUT_REFUSED";
  /** What is wrong with the input, by its path. */
  readonly issues: readonly { readonly path: string; readonly message: string }[];

  constructor(workflow: string, issues: readonly SchemaIssue[]) {
    const told = issues.map(({ path = [], message }) => ({ path: pathText(path), message }));
    const lines = told.map(({ path, message }) => `\n- ${path}: ${message}`);
    super(`The input of ${JSON.stringify(workflow)} was rejected:${lines.join("")}`);
    this.issues = told;
  }
}

interface Takes {
  readonly name: string;
  readonly schema: Schema | null;
}

export async function parseInput({ name, schema }: Takes, input: unknown): Promise<unknown> {
  // Not left to the codec: returning a Promise from an async function awaits it, which would hide the mistake.
  expectAwaited(input);
  return schema ? accepted(name, await schema["~standard"].validate(input)) : input;
}

/** For a child: a workflow's context must not wait between two of its calls. */
export function parseInputNow({ name, schema }: Takes, input: unknown): unknown {
  expectAwaited(input);
  if (!schema) return input;
  const result = schema["~standard"].validate(input);
  if (!(result instanceof Promise)) return accepted(name, result);
  result.catch(() => {});
  throw new InvalidInput(
    `input of ${JSON.stringify(name)}`,
    "its schema validates asynchronously; a child needs a synchronous one",
  );
}

function expectAwaited(input: unknown): void {
  if (isThenable(input)) throw new InvalidInput("input", UNAWAITED);
}

function accepted(name: string, result: Validated<unknown>): unknown {
  if (result.issues) throw new InputRefused(name, result.issues);
  expectAwaited(result.value);
  return result.value;
}

function pathText(path: NonNullable<SchemaIssue["path"]>): string {
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
  return ["input", ...keys].join(".");
}

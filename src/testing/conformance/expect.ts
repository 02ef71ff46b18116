// The assertions of the conformance suite: no test framework, one typed failure.

import { isDeepStrictEqual } from "node:util";
import { HoldfastError } from "../../kernel/error.js";

/** The store's answer is not what its contract says. */
export class ConformanceFailure extends HoldfastError {
  readonly code = "CONFORMANCE_FAILURE";
  /** What the store answered. */
  readonly actual: unknown;
  /** What it should have answered. */
  readonly expected: unknown;

  constructor(what: string, actual: unknown, expected: unknown) {
    super(`${what}: expected ${show(expected)}, got ${show(actual)}`);
    this.actual = actual;
    this.expected = expected;
  }
}

export function same(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected)) throw new ConformanceFailure(what, actual, expected);
}

/** The named fields have these values; others may be there. */
export function matches<T extends object>(actual: T | null | undefined, expected: Partial<T>, what: string): void {
  if (!actual) throw new ConformanceFailure(what, actual, expected);
  const named = Object.fromEntries(Object.keys(expected).map((field) => [field, actual[field as keyof T]]));
  same(named, expected, what);
}

export function holds(condition: boolean, what: string): asserts condition {
  if (!condition) throw new ConformanceFailure(what, false, true);
}

export function some<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new ConformanceFailure(what, value, "something");
  return value;
}

/** Refused with a typed error that has a stable code, not with whatever the backend threw. */
export function refused(
  answer: { readonly outcome: string; readonly error?: HoldfastError },
  what: string,
): HoldfastError {
  same(answer.outcome, "refused", what);
  const error = some(answer.error, `${what}: the error`);
  holds(typeof error.code === "string" && error.code.length > 0, `${what}: the error has a code`);
  return error;
}

/** Rejects, and with a typed error. */
export async function rejects(promise: Promise<unknown>, what: string): Promise<void> {
  const outcome = await promise.then(
    () => "resolved",
    (error: unknown) => (error instanceof HoldfastError ? "typed error" : error),
  );
  same(outcome, "typed error", what);
}

function show(value: unknown): string {
  const text = JSON.stringify(value, (_, item) => (typeof item === "bigint" ? `${item}n` : item));
  return text === undefined ? String(value) : text.length > 2000 ? `${text.slice(0, 2000)}…` : text;
}

// Typed paths into a workflow's input: "customer.id" compiles only if the input has it, and is stored as data.

import { describe, read } from "./codec/read-hostile.js";
import { formatPath } from "./codec/value-path.js";
import { InvalidInput } from "./error.js";

type Scalar = string | number | bigint | boolean;
/** Inputs are deeper than this only in self-referential types. */
type Deeper = [never, 0, 1, 2, 3, 4, 5];
/** True for `unknown` and `any`. */
type IsOpen<T> = unknown extends T ? true : false;

/** The paths of `T` that always lead to a string, a number or a boolean; a name that contains a dot has none. */
export type ScalarPath<T, Depth extends number = 6> =
  IsOpen<T> extends true
    ? string
    : [Depth] extends [never]
      ? never
      : T extends Scalar | readonly unknown[] | ((...args: never) => unknown)
        ? never
        : T extends object
          ? { [K in keyof T & string]-?: Below<K, T[K], Depth> }[keyof T & string]
          : never;

type Below<K extends string, V, Depth extends number> = K extends `${string}.${string}`
  ? never
  : [V] extends [Scalar]
    ? K
    : [V] extends [object]
      ? `${K}.${ScalarPath<V, Deeper[Depth]>}`
      : never;

export function parsePath(text: unknown, where: string): readonly string[] {
  if (typeof text === "string" && text.split(".").every((name) => name !== "")) return text.split(".");
  throw new InvalidInput(where, `must be names joined by dots, like "customer.id"; it is ${describe(text)}`);
}

/** Whether the path has a value, valid as a key or not. */
export function hasKey(input: unknown, path: readonly string[]): boolean {
  return valueAt(input, path) !== undefined;
}

/** Undefined when there is no value. */
export function valueAt(input: unknown, path: readonly string[]): unknown {
  let value = input;
  for (const name of path) {
    const inside = typeof value === "object" && value !== null && Object.hasOwn(value, name);
    value = inside ? read(value as object, name) : undefined;
  }
  return value;
}

/**
 * The value at the path as a text unique to it: "1" and 1 are two keys. Throws when it cannot be a key, and says why
 * one is needed.
 */
export function readKey(
  input: unknown,
  path: readonly string[],
  root = "input",
  why = "a limit of this workflow uses it as key",
): string {
  const value = valueAt(input, path);
  switch (typeof value) {
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "bigint":
      return `${value}n`;
    case "number":
      if (Number.isFinite(value)) return String(value === 0 ? 0 : value);
  }
  const problem = `${why}: it must be a string, a number, a bigint or a boolean`;
  throw new InvalidInput(formatPath(root, path), `${problem}; it is ${describe(value)}`);
}

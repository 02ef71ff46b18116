// Reads objects that may do anything when touched: throwing getters, Proxies, false lengths.

import { types } from "node:util";
import { describeValue, isPlain, objectKind } from "./value-kind.js";

export const UNREADABLE = Symbol("unreadable");

export function read(holder: object, key: string | number): unknown {
  try {
    return (holder as Record<string | number, unknown>)[key];
  } catch {
    return UNREADABLE;
  }
}

/** Undefined if there is no such property; otherwise its text, or why it cannot be read. */
export function readText(holder: object, key: string): string | undefined {
  const value = read(holder, key);
  if (typeof value === "string" || value === undefined) return value;
  if (value === UNREADABLE) return `(the ${key} could not be read)`;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : `(the ${key} is ${describe(value)})`;
}

/** The first `most` items; undefined if it is not an array. */
export function readItems(value: unknown, most: number): unknown[] | undefined {
  try {
    return Array.isArray(value) ? value.slice(0, most) : undefined;
  } catch {
    return undefined;
  }
}

export function isError(value: object): boolean {
  try {
    return types.isNativeError(value) || value instanceof Error;
  } catch {
    return false;
  }
}

export function describe(value: unknown): string {
  if (typeof value === "bigint") return value > -(2n ** 64n) && value < 2n ** 64n ? `${value}n` : "a bigint";
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    const kind = objectKind(value);
    if (isPlain(kind)) return "an object";
    if (kind === "array") return "an array";
    return describeValue(value);
  } catch {
    return "an object";
  }
}

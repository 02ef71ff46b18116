// Finds values that a PostgreSQL column would refuse, before anything is written; each check returns the error or null.
//
// Callers are not always type-checked: a value of another type is refused like one out of range.

import { describeValue } from "../../kernel/codec/value-kind.js";
import { HoldfastError, InvalidInput, LimitExceeded } from "../../kernel/error.js";
import { isUuid } from "../../kernel/id.js";
import type { NameCheck } from "../../kernel/name.js";

export type Problem = HoldfastError | null;
/** A check of one value; `path` is its name in the caller's arguments. */
export type Check = (path: string, value: unknown) => Problem;

const INT_MAX = 2 ** 31 - 1;
/** A hundred years: beyond it microseconds no longer fit a double, and no caller waits that long. */
export const LONGEST_DELAY_MS = 100 * 365.25 * 86_400_000;

/** Null and undefined pass, everything else is checked. */
export function optional(check: Check): Check {
  return (path, value) => (value === null || value === undefined ? null : check(path, value));
}

export function nullable(check: Check): Check {
  return (path, value) => (value === null ? null : check(path, value));
}

/** NUL is refused by text columns (22021); a lone surrogate would silently become U+FFFD on the wire. */
export function checkText(path: string, text: unknown): Problem {
  if (typeof text !== "string") return new InvalidInput(path, `must be a string, not ${describeValue(text)}`);
  if (text.includes("\0")) return new InvalidInput(path, "contains a NUL character; remove or escape it");
  if (!text.isWellFormed()) return new InvalidInput(path, "contains half of a surrogate pair; send whole characters");
  return null;
}

export function checkUuid(path: string, text: unknown): Problem {
  return isUuid(text) ? null : new InvalidInput(path, "is not a UUID in lower case");
}

export function checkObject(path: string, value: unknown): Problem {
  if (typeof value === "object" && value !== null) return null;
  return new InvalidInput(path, `must be an object, not ${describeValue(value)}`);
}

export function checkPayload(path: string, payload: unknown): Problem {
  const problem = checkObject(path, payload);
  if (problem) return problem;
  const { codec, data } = payload as { codec?: unknown; data?: unknown };
  return checkText(`${path}.codec`, codec) ?? checkText(`${path}.data`, data);
}

export function checkInteger(path: string, value: unknown, least: number, most = INT_MAX): Problem {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return null;
  return new InvalidInput(path, `must be a whole number from ${least} to ${most}, not ${shown(value)}`);
}

/** How many at most. Less than one is no error: it asks for nothing. */
export function checkLimit(path: string, limit: unknown): Problem {
  return Number.isSafeInteger(limit) ? null : new InvalidInput(path, `must be a whole number, not ${shown(limit)}`);
}

export function checkDelay(path: string, ms: unknown): Problem {
  if (typeof ms === "number" && ms >= 0 && ms <= LONGEST_DELAY_MS) return null;
  return new InvalidInput(path, `must be between 0 and ${LONGEST_DELAY_MS} milliseconds, not ${shown(ms)}`);
}

export function checkOneOf(path: string, value: unknown, known: readonly string[]): Problem {
  if (known.includes(value as string)) return null;
  return new InvalidInput(path, `must be one of ${known.join(", ")}, not ${shown(value)}`);
}

export function checkBoolean(path: string, value: unknown): Problem {
  return typeof value === "boolean" ? null : new InvalidInput(path, "must be true or false");
}

/** Of an entry, an epoch or an event: as large as a number can be without rounding. */
export const checkSeq = integer(0, Number.MAX_SAFE_INTEGER);

/** The end of the year 9999: beyond it PostgreSQL's and JavaScript's calendars differ. */
const LATEST_MS = 253_402_300_799_999;
export const checkInstant = integer(-LATEST_MS, LATEST_MS);

export function integer(least: number, most?: number): Check {
  return (path, value) => checkInteger(path, value, least, most);
}

export function among(known: readonly string[]): Check {
  return (path, value) => checkOneOf(path, value, known);
}

/** A rule of kernel/name.ts as an answer instead of a throw. */
export const named = (rule: NameCheck): Check => ruled(rule);

/** Any rule that throws what it refuses. */
export function ruled(rule: (value: unknown, path: string) => unknown): Check {
  return (path, value) => {
    try {
      rule(value, path);
      return null;
    } catch (error) {
      if (error instanceof HoldfastError) return error;
      throw error;
    }
  };
}

/** The text of a JSON object of bounded length. */
export function jsonObject(noun: string, longest: number): Check {
  return (path, text) => {
    const problem = checkText(path, text);
    if (problem) return problem;
    const { length } = text as string;
    if (length > longest) return new LimitExceeded(path, `the length of ${noun}`, longest, length);
    try {
      const read: unknown = JSON.parse(text as string);
      if (typeof read === "object" && read !== null && !Array.isArray(read)) return null;
    } catch {
      // Reported below.
    }
    return new InvalidInput(path, "must be a JSON object");
  };
}

/** Fields are checked in this order, each under its own path. `noun` is the path of an object that is the whole argument. */
export function shape<T>(noun: string, fields: { readonly [Field in keyof T]?: Check }): Check {
  const checks = Object.entries(fields) as [string, Check][];
  return (path, value) => {
    const problem = checkObject(path || noun, value);
    if (problem) return problem;
    for (const [field, check] of checks) {
      const own = (value as Record<string, unknown>)[field];
      const found = check(field, own);
      // Checked again under its whole path: composing that for every field took a tenth of a commit's check.
      if (found) return path ? check(`${path}.${field}`, own) : found;
    }
    return null;
  };
}

export function listOf(what: string, check: Check): Check {
  return (path, items) => {
    if (!Array.isArray(items)) return new InvalidInput(path, `must be a list of ${what}`);
    for (let i = 0; i < items.length; i++) {
      const problem = check(`${path}[${i}]`, items[i]);
      if (problem) return problem;
    }
    return null;
  };
}

/** The same for an object that is the whole argument: its fields have paths of their own. */
export function whole(check: Check): (value: unknown) => Problem {
  return (value) => check("", value);
}

/** `seen` has the names of the call so far. */
export function checkOnce(path: string, name: string, seen: Set<string>, where = "in this call"): Problem {
  if (seen.has(name)) return new InvalidInput(path, `is listed twice ${where}`);
  seen.add(name);
  return null;
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 80));
  return typeof value === "number" ? String(value) : describeValue(value);
}

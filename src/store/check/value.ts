// What a PostgreSQL column would not take, found before anything is written; each check answers the error or null.

import { HoldfastError, InvalidInput } from "../../kernel/error.js";
import { isUuid } from "../../kernel/id.js";
import type { NameCheck } from "../../kernel/name.js";
import type { Payload } from "../../kernel/payload.js";

export type Problem = HoldfastError | null;

const INT_MAX = 2 ** 31 - 1;
/** A hundred years: beyond it microseconds no longer fit a double, and nobody waits that long. */
export const LONGEST_DELAY_MS = 100 * 365.25 * 86_400_000;

/** NUL is refused by text columns (22021); a lone surrogate would silently become U+FFFD on the wire. */
export function checkText(path: string, text: string | null | undefined): Problem {
  if (text === null || text === undefined) return null;
  if (text.includes("\0")) return new InvalidInput(path, "contains a NUL character; remove or escape it");
  if (!text.isWellFormed()) return new InvalidInput(path, "contains half of a surrogate pair; send whole characters");
  return null;
}

export function checkUuid(path: string, text: string | null | undefined): Problem {
  if (text === null || text === undefined || isUuid(text)) return null;
  return new InvalidInput(path, "is not a UUID in lower case");
}

export function checkPayload(path: string, payload: Payload | null | undefined): Problem {
  if (!payload) return null;
  return checkText(`${path}.codec`, payload.codec) ?? checkText(`${path}.data`, payload.data);
}

export function checkInteger(path: string, value: number, least: number): Problem {
  if (Number.isInteger(value) && value >= least && value <= INT_MAX) return null;
  return new InvalidInput(path, `must be a whole number from ${least} to ${INT_MAX}, not ${value}`);
}

export function checkDelay(path: string, ms: number | null): Problem {
  if (ms === null || (ms >= 0 && ms <= LONGEST_DELAY_MS)) return null;
  return new InvalidInput(path, `must be between 0 and ${LONGEST_DELAY_MS} milliseconds, not ${ms}`);
}

/** A rule of kernel/name.ts as an answer instead of a throw; null values pass. */
export function checkName(rule: NameCheck, path: string, name: string | null | undefined): Problem {
  if (name === null || name === undefined) return null;
  try {
    rule(name, path);
    return null;
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}

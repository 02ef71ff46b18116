// Checks whether the limits of a run can be stored: few, each key once, each kind with the fields it needs.

import { InvalidInput } from "../../../kernel/error.js";
import { limitKey } from "../../../kernel/name.js";
import { checkInteger, checkName, checkObject, checkOneOf, LONGEST_DELAY_MS, type Problem } from "../value.js";

const KINDS = ["serial", "slots", "rate"];
const OVERFLOWS = ["drop", "shed-oldest"];
const MOST_LIMITS = 8;

export function checkLimits(path: string, limits: unknown): Problem {
  if (!Array.isArray(limits)) return new InvalidInput(path, "must be a list of limits");
  if (limits.length > MOST_LIMITS)
    return new InvalidInput(path, `may have ${MOST_LIMITS} limits, not ${limits.length}`);
  const seen = new Set<string>();
  for (const [i, limit] of limits.entries()) {
    const problem = checkLimit(`${path}[${i}]`, limit);
    if (problem) return problem;
    // A run that waits for itself would wait for ever.
    if (seen.has(limit.key)) return new InvalidInput(`${path}[${i}].key`, "is listed twice in this run's limits");
    seen.add(limit.key);
  }
  return null;
}

function checkLimit(path: string, limit: unknown): Problem {
  const problem = checkObject(path, limit);
  if (problem) return problem;
  const { kind, key, max, perMs, overflow } = limit as Record<string, unknown>;
  return (
    checkOneOf(`${path}.kind`, kind, KINDS) ??
    checkName(limitKey, `${path}.key`, key) ??
    checkInteger(`${path}.max`, max, 1, kind === "serial" ? 1 : undefined) ??
    (kind === "rate" ? checkInteger(`${path}.perMs`, perMs, 1, LONGEST_DELAY_MS) : null) ??
    (overflow === undefined ? null : checkOverflow(`${path}.overflow`, kind, overflow))
  );
}

/** The other kinds are places of one run each, or times: no run could be skipped in favour of another. */
function checkOverflow(path: string, kind: unknown, overflow: unknown): Problem {
  return kind === "slots" ? checkOneOf(path, overflow, OVERFLOWS) : new InvalidInput(path, "is only for slots");
}

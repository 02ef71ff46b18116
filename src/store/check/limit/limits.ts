// Checks whether the limits of a run can be stored: few, each key once, each kind with the fields it needs.

import { InvalidInput } from "../../../kernel/error.js";
import { limitKey } from "../../../kernel/name.js";
import type { NewLimit } from "../../../kernel/run/new-run.js";
import * as v from "../value.js";

const KINDS = ["serial", "slots", "rate"];
const OVERFLOWS = ["drop", "shed-oldest"];
const MOST_LIMITS = 8;

const checkKind = v.shape<NewLimit>("limit", { kind: v.among(KINDS), key: v.named(limitKey) });

export function checkLimits(path: string, limits: unknown): v.Problem {
  const seen = new Set<string>();
  const check = v.listOf("limits", (at, limit) => {
    // A run that waits for itself would wait for ever.
    return checkLimit(at, limit) ?? v.checkOnce(`${at}.key`, (limit as NewLimit).key, seen, "in this run's limits");
  });
  const most = Array.isArray(limits) ? limits.length : 0;
  if (most > MOST_LIMITS) return new InvalidInput(path, `may have ${MOST_LIMITS} limits, not ${most}`);
  return check(path, limits);
}

function checkLimit(path: string, limit: unknown): v.Problem {
  const problem = checkKind(path, limit);
  if (problem) return problem;
  const { kind, max, perMs, overflow } = limit as Record<string, unknown>;
  return (
    v.checkInteger(`${path}.max`, max, 1, kind === "serial" ? 1 : undefined) ??
    (kind === "rate" ? v.checkInteger(`${path}.perMs`, perMs, 1, v.LONGEST_DELAY_MS) : null) ??
    (overflow === undefined ? null : checkOverflow(`${path}.overflow`, kind, overflow))
  );
}

/** The other kinds are places of one run each, or times: no run could be skipped in favour of another. */
function checkOverflow(path: string, kind: unknown, overflow: unknown): v.Problem {
  return kind === "slots" ? v.checkOneOf(path, overflow, OVERFLOWS) : new InvalidInput(path, "is only for slots");
}

// The recovery policy of a run whose holder died: resume, restart or fail.

import { InvalidInput } from "../error.js";

export const RECOVERIES = ["resume", "restart", "fail"] as const;

/**
 * `resume`: another node continues from the journal. `restart`: the run starts over with the same input, as the next
 * generation. `fail`: the run is `failed` with the code ORPHANED, and nothing of it runs again.
 */
export type Recovery = (typeof RECOVERIES)[number];

/** @default resume */
export function recoveryOf(recovery: Recovery | undefined, path = "recovery"): Recovery {
  if (recovery === undefined) return "resume";
  if (RECOVERIES.includes(recovery)) return recovery;
  throw new InvalidInput(path, `must be one of ${RECOVERIES.join(", ")}; it is ${JSON.stringify(recovery)}`);
}

/** The error in the journal of a run with `recovery: "fail"`, as callers of its result see it. */
export function orphanedError(previousOwner: string): object {
  const message = "The node that worked on this run died, and its recovery policy is to fail.";
  return { name: "RunOrphaned", message, code: ORPHANED, details: { previousOwner } };
}

export const ORPHANED = "ORPHANED";

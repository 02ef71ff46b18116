// What becomes of a run whose holder died: it goes on where it was, begins anew, or is given up.

import { InvalidInput } from "../error.js";

export const RECOVERIES = ["resume", "restart", "fail"] as const;

/**
 * `resume`: another node goes on from the journal. `restart`: it begins anew with the same input, as the next generation.
 * `fail`: the run is `failed` with the code ORPHANED, and nothing of it is done again.
 */
export type Recovery = (typeof RECOVERIES)[number];

/** Not given: resume. */
export function recoveryOf(recovery: Recovery | undefined, path = "recovery"): Recovery {
  if (recovery === undefined) return "resume";
  if (RECOVERIES.includes(recovery)) return recovery;
  throw new InvalidInput(path, `must be one of ${RECOVERIES.join(", ")}; it is ${JSON.stringify(recovery)}`);
}

/** What stands in the journal of a run that was given up: as whoever waits for its result sees it. */
export function orphanedError(previousOwner: string): object {
  const message = "The node that worked on this run died, and its program asks for no second attempt.";
  return { name: "RunOrphaned", message, code: ORPHANED, details: { previousOwner } };
}

export const ORPHANED = "ORPHANED";

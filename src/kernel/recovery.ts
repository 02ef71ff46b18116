// What becomes of a run whose holder died: it goes on where it was, begins anew, or is given up.

import { InvalidInput } from "./error.js";

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

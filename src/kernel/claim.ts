// The right to work on a run for a while, and what proves it.

import { HoldfastError } from "./error.js";

/**
 * Each grant raises the epoch and carries a fresh random token. Both travel in the predicate of every write made
 * under the claim: the epoch alone is handed out twice when a failover loses the last commits.
 */
export interface Claim {
  readonly runId: string;
  readonly epoch: number;
  readonly token: string;
}

/** Somebody else holds the run now, or it has ended. Nothing of the refused write was stored. */
export class ClaimLost extends HoldfastError {
  readonly code = "CLAIM_LOST";
  readonly runId: string;

  constructor(claim: Claim) {
    super(
      `The claim on run ${claim.runId} (epoch ${claim.epoch}) is lost: another node took over or the run ended. ` +
        "Stop this work; its new owner goes on from the journal.",
    );
    this.runId = claim.runId;
  }
}

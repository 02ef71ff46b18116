// A claim: the right to work on a run for a while, with its proof.

import { HoldfastError } from "../error.js";

/**
 * Each grant raises the epoch and carries a fresh random token. Both are in the predicate of every write made under the
 * claim: the epoch alone is handed out twice when a failover loses the last commits.
 */
export interface Claim {
  readonly runId: string;
  readonly epoch: number;
  readonly token: string;
  /** The run has limits: when its claim is released, others may be admitted. Omitted: not known, and housekeeping admits them. */
  readonly limited?: boolean;
  /** The run is a task: its end is counted in those that wait for it. Omitted: not known, and found out by a second statement. */
  readonly counts?: boolean;
}

/** Where the part of a UUID begins that a token shares with its node. */
const OWNERS_PART = 19;

/**
 * The token of a new claim: 60 random bits, then the last 62 bits of the owner's incarnation. So every entry written
 * under the claim identifies its holder without another column.
 */
export function claimToken(drawn: string, owner: string): string {
  return drawn.slice(0, OWNERS_PART) + owner.slice(OWNERS_PART);
}

export function isTokenOf(owner: string, token: string): boolean {
  return owner.slice(OWNERS_PART) === token.slice(OWNERS_PART);
}

/** Another node holds the run now, or it has ended. Nothing of the rejected write was stored. */
export class ClaimLost extends HoldfastError {
  readonly code = "CLAIM_LOST";
  /** The run that another node holds now. */
  readonly runId: string;

  constructor(claim: Claim) {
    super(
      `The claim on run ${claim.runId} (epoch ${claim.epoch}) is lost: another node took over or the run ended. ` +
        "Stop this work; the new owner continues from the journal.",
    );
    this.runId = claim.runId;
  }
}

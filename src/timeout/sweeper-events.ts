// What a sweeper counts and tells.

import type { ResignReason } from "../lease/error.js";

export interface SweeperMetrics {
  /** Looks that got an answer. */
  readonly sweeps: number;
  /** The handler moved the instance. */
  readonly fired: number;
  /** The instance had moved on; or the timeout was cancelled or scheduled anew before it was claimed. */
  readonly skipped: number;
  /** Claimed by another node between the look and the claim. */
  readonly claimConflicts: number;
  /** Handlers that failed or outlived their claim, and calls to the store that did. */
  readonly errors: number;
  /** Given up after `maxAttempts`. */
  readonly dead: number;
}

export interface TimeoutFacts {
  readonly instance: string;
  readonly state: string;
  readonly sequence: number;
  readonly attempts: number;
}

export interface SweeperEvents {
  "timeout.fired": TimeoutFacts;
  /** Its instance had moved on. */
  "timeout.stale": TimeoutFacts;
  /** Its handler failed; it is due again in so many ms. Null: it was given up. */
  "timeout.failed": TimeoutFacts & { readonly error: unknown; readonly retryInMs: number | null };
  /** Given up: `store.dead()` shows it, `store.retry()` makes it due again. */
  "timeout.dead": TimeoutFacts & { readonly problem: string };
  /** Its handler goes on beyond its claim; its place is given to others. */
  "timeout.overran": TimeoutFacts;
  /** A call to the store failed; the sweeper goes on. */
  "sweeper.error": { readonly during: "look" | "claim" | "complete" | "release" | "election"; readonly error: unknown };
  "sweeper.elected": { readonly epoch: bigint };
  "sweeper.resigned": { readonly reason: ResignReason };
}

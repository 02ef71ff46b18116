// Metrics and telemetry events of the timeout sweeper.

import type { ResignReason } from "../lease/error.js";

/** Counts of a sweeper since it started. */
export interface SweeperMetrics {
  /** Looks that the store answered. */
  readonly sweeps: number;
  /** The handler moved the instance. */
  readonly fired: number;
  /** The instance had left the timed state, or the timeout was cancelled or replaced before it was claimed. */
  readonly skipped: number;
  /** Claimed by another node between the look and the claim. */
  readonly claimConflicts: number;
  /** Handlers that failed or outlasted their claim, and calls to the store that failed. */
  readonly errors: number;
  /** Dead letters: given up after `maxAttempts`. */
  readonly dead: number;
}

/** The facts of an event about a timeout. */
export interface TimeoutFacts {
  /** The instance of the timeout. */
  readonly instance: string;
  /** The state that is timed. */
  readonly state: string;
  /** The instance's sequence when it entered that state. */
  readonly sequence: number;
  /** How often it was claimed. */
  readonly attempts: number;
}

/** Events of a sweeper, by name. */
export interface SweeperEvents {
  /** The handler moved the instance. */
  "timeout.fired": TimeoutFacts;
  /** Its instance had left the timed state. */
  "timeout.stale": TimeoutFacts;
  /** Its handler failed; it is due again in `retryInMs`. Null: it was given up. */
  "timeout.failed": TimeoutFacts & { readonly error: unknown; readonly retryInMs: number | null };
  /** Given up: `store.dead()` lists it, `store.retry()` makes it due again. */
  "timeout.dead": TimeoutFacts & { readonly problem: string };
  /** Its claim expired while the handler was running; the handler's place is free for another timeout. */
  "timeout.overran": TimeoutFacts;
  /** A call to the store failed; the sweeper continues. */
  "sweeper.error": { readonly during: "look" | "claim" | "complete" | "release" | "election"; readonly error: unknown };
  /** This sweeper leads now. */
  "sweeper.elected": { readonly epoch: bigint };
  /** This sweeper no longer leads. */
  "sweeper.resigned": { readonly reason: ResignReason };
}

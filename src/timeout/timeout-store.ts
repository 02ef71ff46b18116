// The interface through which a sweeper uses the timeouts of one kind of instance. Implement it to store timeouts in your own database.

import type { Duration } from "../kernel/duration.js";
import type { WorkClaims } from "../lease/work-claims.js";
import type { TimeoutRecord } from "../store/contract/timeout/timeouts.js";
import type { Transaction } from "../store/contract/transaction.js";

/** A timeout to schedule: the state it times, and its deadline. */
export type TimeoutToSchedule<State extends string = string> = {
  /** The state that is timed. */
  readonly state: State;
  /** The instance's sequence when it entered that state. Events that leave it in the state do not change this. */
  readonly sequence: number;
  /** An existing timeout for the same state and sequence keeps its deadline: for scheduling again after a restart. @default false */
  readonly keep?: boolean;
} & (
  | {
      /** From now, by the database's clock. */
      readonly in: Duration;
      readonly at?: never;
    }
  | {
      /** A point in time; a number is milliseconds since 1970. */
      readonly at: Date | number;
      readonly in?: never;
    }
);

/** Times are milliseconds since 1970. */
export interface ScheduledTimeout<Id extends string = string, State extends string = string>
  extends Omit<TimeoutRecord, "env" | "scope" | "instance" | "state" | "generation"> {
  /** The instance it belongs to. */
  readonly instance: Id;
  /** The state that is timed. */
  readonly state: State;
  /** A new one with every `schedule`. */
  readonly generation: string;
}

/** A timeout that a node has claimed. */
export interface ClaimedTimeout<Id extends string = string, State extends string = string>
  extends ScheduledTimeout<Id, State> {
  /** Known only to the node that holds the claim. */
  readonly token: string;
}

/** The answer to `claim`. */
export type ClaimResult<Id extends string = string, State extends string = string> =
  | { readonly outcome: "claimed"; readonly claim: ClaimedTimeout<Id, State> }
  /** Null if unknown. */
  | { readonly outcome: "alreadyClaimed"; readonly by: string | null; readonly until: number | null }
  /** Fired or cancelled. */
  | { readonly outcome: "notFound" }
  /** Changed since it was read: scheduled again, put off after a failure, or given up. */
  | { readonly outcome: "stateChanged" };

/** Timeouts that are due. */
export interface Expired<Id extends string = string, State extends string = string> {
  /** Due and not claimed, in the order of their due times. */
  readonly timeouts: readonly ScheduledTimeout<Id, State>[];
  /** How long until the next one is due; null if there is none, or if unknown. */
  readonly nextInMs: number | null;
}

/** Options of calls that may be part of your own transaction. */
export interface InTransaction {
  /** Your own transaction: the call takes effect if it commits. */
  readonly tx?: Transaction;
}

/**
 * Stores timeouts of one kind of instance. `timeoutsConformance` of `holdfast/testing` proves an implementation. Its rules:
 *
 * - Each `schedule` draws a new generation. Claiming, completing and releasing are single conditional writes with the generation in
 *   their predicate, so a claim on a timeout that was replaced never touches its successor.
 * - Each claim draws a random token, and `complete` and `release` require it: the node's name is not enough.
 * - The database's clock decides what is due and which claim has expired. A timeout is due at the very instant of its deadline.
 * - An expired claim may still be completed or released until another node claims the timeout.
 * - A timeout released with `retryInMs` is not due before that, so that one that fails queues behind all that are due. One that was
 *   given up is neither found nor claimed until it is retried or scheduled again.
 */
export interface TimeoutStore<Id extends string = string, State extends string = string> {
  /** The kind of instance that these timeouts belong to. */
  readonly scope: string;
  /** An instance has one timeout: a new one replaces the old one, and a claim on the old one is lost. */
  schedule(
    instance: Id,
    timeout: TimeoutToSchedule<State>,
    options?: InTransaction,
  ): Promise<ScheduledTimeout<Id, State>>;
  /** True if there was one. */
  cancel(instance: Id, options?: InTransaction): Promise<boolean>;
  /** The timeout of an instance; null: it has none. */
  get(instance: Id): Promise<ScheduledTimeout<Id, State> | null>;
  /** Timeouts that are due, at most this many. */
  queryExpired(limit: number): Promise<Expired<Id, State>>;
  /** Claims a timeout for a node, for this long. */
  claim(
    timeout: Pick<ScheduledTimeout<Id, State>, "instance" | "generation">,
    node: string,
    options: { readonly claimMs: number },
  ): Promise<ClaimResult<Id, State>>;
  /** Removes it. False: the claim is lost. The same call repeated returns false. */
  complete(claim: ClaimedTimeout<Id, State>, options?: InTransaction): Promise<boolean>;
  /** Ends the claim. With `retryInMs`, the timeout failed and is due again after that; without, it was not tried and is due at once. */
  release(
    claim: ClaimedTimeout<Id, State>,
    options?: { readonly retryInMs?: number; readonly problem?: string },
  ): Promise<boolean>;
  /** It failed too often: it stays in the store as a dead letter and is not tried again. */
  giveUp(claim: ClaimedTimeout<Id, State>, problem: string): Promise<boolean>;
  /** Timeouts that were given up, in the order of their instances, after this one. */
  dead(limit: number, after?: Id): Promise<readonly ScheduledTimeout<Id, State>[]>;
  /** Makes a timeout that was given up due now, with its attempts reset. False: there is no such timeout. */
  retry(instance: Id): Promise<boolean>;

  /** Calls back for timeouts scheduled by any process, so that a sweeper can sleep until then. Returns a function that ends it. */
  onScheduled?(listener: (inMs: number) => void): () => void;
  /** Where leaders are elected, unless the sweeper's options name other claims. */
  readonly claims?: WorkClaims;
}

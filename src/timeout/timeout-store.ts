// The timeouts of one kind of instance: what a sweeper asks for. Implement it to keep timeouts in a database of your own.
//
// `timeoutsConformance` in `holdfast/testing` proves an implementation. What it must keep to:
// - Each `schedule` draws a new generation; claiming, completing and releasing name the generation they mean in the predicate of a
//   single conditional write. What was scheduled anew is never touched by a claim on what stood there before.
// - Each claim draws a random token, and `complete` and `release` name it: the node's name is not enough.
// - The database's clock decides what is due and which claim is over. At the very instant, it is.
// - A claim whose time is over may still be completed or released as long as nobody took it.
// - A released timeout with `retryInMs` is not due before, so that one that fails stands behind all that are due; given up, it is
//   neither found nor claimed until it is retried or scheduled anew.

import type { Duration } from "../kernel/duration.js";
import type { WorkClaims } from "../lease/work-claims.js";
import type { Transaction } from "../store/contract/transaction.js";

export type TimeoutToSchedule<State extends string = string> = {
  /** The state that is timed. */
  readonly state: State;
  /** The instance's sequence when it entered that state: staying in it does not change this. */
  readonly sequence: number;
  /** One that stands for the same state and sequence keeps its deadline: for arming again after a restart. Default false. */
  readonly keep?: boolean;
} & (
  | {
      /** From now on, by the database's clock. */
      readonly in: Duration;
      readonly at?: never;
    }
  | {
      /** An instant of the calendar; a number is milliseconds since 1970. */
      readonly at: Date | number;
      readonly in?: never;
    }
);

export interface ScheduledTimeout<Id extends string = string, State extends string = string> {
  readonly instance: Id;
  readonly state: State;
  readonly sequence: number;
  /** Another with every `schedule`. */
  readonly generation: string;
  /** Milliseconds since 1970, as all times here. */
  readonly deadline: number;
  readonly createdAt: number;
  /** Claims so far, the present one included. */
  readonly attempts: number;
  /** Who claimed it last, and until when. */
  readonly claimedBy: string | null;
  readonly claimedUntil: number | null;
  /** Given up after too many failures: nobody tries it until it is retried or scheduled anew. */
  readonly dead: boolean;
  /** What the last failure said. */
  readonly problem: string | null;
}

export interface ClaimedTimeout<Id extends string = string, State extends string = string>
  extends ScheduledTimeout<Id, State> {
  /** The claimer's alone. */
  readonly token: string;
}

export type ClaimResult<Id extends string = string, State extends string = string> =
  | { readonly outcome: "claimed"; readonly claim: ClaimedTimeout<Id, State> }
  /** Null when that is not known. */
  | { readonly outcome: "alreadyClaimed"; readonly by: string | null; readonly until: number | null }
  /** Fired or cancelled. */
  | { readonly outcome: "notFound" }
  /** Not what was read: scheduled anew, put off after a failure, or given up. */
  | { readonly outcome: "stateChanged" };

export interface Expired<Id extends string = string, State extends string = string> {
  /** Due and claimed by nobody, the longest due first. */
  readonly timeouts: readonly ScheduledTimeout<Id, State>[];
  /** How long until the next is due; null when there is none, or it is not known. */
  readonly nextInMs: number | null;
}

export interface InTransaction {
  /** A transaction of your own: it happens if that commits. */
  readonly tx?: Transaction;
}

export interface TimeoutStore<Id extends string = string, State extends string = string> {
  /** Which instances these are the timeouts of. */
  readonly scope: string;
  /** One for each instance: it takes the place of the one before, whose claim is lost. */
  schedule(
    instance: Id,
    timeout: TimeoutToSchedule<State>,
    options?: InTransaction,
  ): Promise<ScheduledTimeout<Id, State>>;
  /** Whether there was one. */
  cancel(instance: Id, options?: InTransaction): Promise<boolean>;
  get(instance: Id): Promise<ScheduledTimeout<Id, State> | null>;
  queryExpired(limit: number): Promise<Expired<Id, State>>;
  claim(
    timeout: Pick<ScheduledTimeout<Id, State>, "instance" | "generation">,
    node: string,
    options: { readonly claimMs: number },
  ): Promise<ClaimResult<Id, State>>;
  /** Removes it. False: not this claim's any more. The same call repeated answers false. */
  complete(claim: ClaimedTimeout<Id, State>, options?: InTransaction): Promise<boolean>;
  /** Gives it up. With `retryInMs` it failed, and is due again then; without, it was not tried, and is due at once. */
  release(
    claim: ClaimedTimeout<Id, State>,
    options?: { readonly retryInMs?: number; readonly problem?: string },
  ): Promise<boolean>;
  /** Failed too often: it is kept and shown, and nobody tries it. */
  giveUp(claim: ClaimedTimeout<Id, State>, problem: string): Promise<boolean>;
  /** Those that were given up, by instance, after this one. */
  dead(limit: number, after?: Id): Promise<readonly ScheduledTimeout<Id, State>[]>;
  /** One that was given up is due now, its attempts forgotten. False: it is not one. */
  retry(instance: Id): Promise<boolean>;

  /** Tells of what is scheduled, here and elsewhere, so that a sweeper need not look. Answers a function that ends it. */
  onScheduled?(listener: (inMs: number) => void): () => void;
  /** Where leaders are elected, if the sweeper is told of no other claims. */
  readonly claims?: WorkClaims;
}

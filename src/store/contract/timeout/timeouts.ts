// Timeouts: deadlines of instances that somebody else keeps, one for each instance of a scope.
//
// What is scheduled is a generation: state and sequence of the instance at that moment, and a deadline. Whoever claims one claims
// a generation, and completes or releases that and no other. Whether the instance is still there is not asked here: what fires
// says so itself, in the write that moves the instance.

import type { Transaction } from "../transaction.js";

export interface TimeoutKey {
  readonly env: string;
  /** Which kind of instance: scopes do not see each other's timeouts. */
  readonly scope: string;
  readonly instance: string;
}

export interface NewTimeout extends TimeoutKey {
  /** A UUID that the caller draws for each call: the same call repeated changes nothing. */
  readonly generation: string;
  readonly state: string;
  readonly sequence: number;
  /** From now on by the store's clock, or an instant of the calendar. */
  readonly deadline: { readonly inMs: number } | { readonly at: number };
  /** One that stands for the same state and sequence stays as it is. Otherwise it is replaced. */
  readonly keep: boolean;
}

export interface TimeoutRecord extends TimeoutKey {
  readonly generation: string;
  readonly state: string;
  readonly sequence: number;
  readonly deadline: number;
  readonly createdAt: number;
  /** Claims so far, the present one included, that were not given back without harm. */
  readonly attempts: number;
  /** Who claimed it last, and until when; null when nobody did or it was released. */
  readonly claimedBy: string | null;
  readonly claimedUntil: number | null;
  /** Given up after too many failures: nobody tries it until it is retried or scheduled anew. */
  readonly dead: boolean;
  /** What the last failure said. */
  readonly problem: string | null;
}

export interface TimeoutClaimRequest extends TimeoutKey {
  /** As it was read: one that was scheduled anew meanwhile is not claimed. */
  readonly generation: string;
  readonly node: string;
  /** Drawn by the caller: the same call repeated answers the claim it already has. */
  readonly token: string;
  readonly claimMs: number;
}

export type TimeoutClaimAnswer =
  | { readonly outcome: "claimed"; readonly timeout: TimeoutRecord }
  /** Both null: somebody is writing to it at this moment. */
  | { readonly outcome: "alreadyClaimed"; readonly by: string | null; readonly until: number | null }
  | { readonly outcome: "notFound" }
  /** Not what was read: scheduled anew, put off after a failure, or given up. */
  | { readonly outcome: "stateChanged" };

/** Which claim a write is made under: all of it stands in the write's predicate. */
export interface TimeoutFence {
  readonly generation: string;
  readonly token: string;
}

export interface TimeoutRelease extends TimeoutFence {
  /** It failed: due again in so many ms, `"never"` when it is given up. Null: it was not tried; due at once, and not counted. */
  readonly retryInMs: number | "never" | null;
  /** Why it failed; null: as before. */
  readonly problem: string | null;
}

export interface ExpiredTimeouts {
  /** Due and held by nobody, the longest due first. */
  readonly timeouts: readonly TimeoutRecord[];
  /** How long until the next one is due, or its claim is over; null when none will be. */
  readonly nextMs: number | null;
}

/** Kept by a store for all scopes. A user's own code sees one scope of it. */
export interface TimeoutTable {
  /** Answers what stands there now. A claim on what stood there before is lost. */
  schedule(timeout: NewTimeout, options?: { readonly tx?: Transaction }): Promise<TimeoutRecord>;
  /** Whether there was one. */
  cancel(key: TimeoutKey, options?: { readonly tx?: Transaction }): Promise<boolean>;
  get(key: TimeoutKey): Promise<TimeoutRecord | null>;
  expired(of: { readonly env: string; readonly scope: string }, limit: number): Promise<ExpiredTimeouts>;
  claim(requests: readonly TimeoutClaimRequest[]): Promise<readonly TimeoutClaimAnswer[]>;
  /** Removes them. False: not this claim's (any more), or somebody is writing to it. Also after its time, if nobody took it. */
  complete(fences: readonly TimeoutFence[], options?: { readonly tx?: Transaction }): Promise<readonly boolean[]>;
  release(releases: readonly TimeoutRelease[]): Promise<readonly boolean[]>;

  /** Those that were given up, by instance, after this one. */
  dead(
    of: { readonly env: string; readonly scope: string },
    page: { readonly limit: number; readonly after?: string },
  ): Promise<readonly TimeoutRecord[]>;
  /** One that was given up is due now, its attempts forgotten. False: it is not one. */
  retry(key: TimeoutKey): Promise<boolean>;

  /**
   * Calls back when somebody, here or in another process, has scheduled one that is due in so many ms and sooner than what was told
   * before. A hint: losing it costs lateness and nothing else. Answers a function that ends it.
   */
  onScheduled(of: { readonly env: string; readonly scope: string }, listener: (inMs: number) => void): () => void;
}

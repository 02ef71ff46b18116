// Timeouts: deadlines of instances that the user's own tables hold, one for each instance of a scope.
//
// Each schedule makes a generation: the state and sequence of the instance at that moment, and a deadline. A claim is on one
// generation, and completes or releases that one only. The store does not ask whether the instance still exists: the handler's
// conditional write does.

import type { Transaction } from "../transaction.js";

/** Identifies the timeout of an instance. */
export interface TimeoutKey {
  /** Its environment. */
  readonly env: string;
  /** The kind of instance. Scopes do not see each other's timeouts. */
  readonly scope: string;
  /** The instance it belongs to. */
  readonly instance: string;
}

export interface NewTimeout extends TimeoutKey {
  /** A UUID that the caller draws for each call: repeating the same call changes nothing. */
  readonly generation: string;
  readonly state: string;
  readonly sequence: number;
  /** A distance from now by the store's clock, or a point in time. */
  readonly deadline: { readonly inMs: number } | { readonly at: number };
  /** True: an existing timeout for the same state and sequence stays as it is. Otherwise it is replaced. */
  readonly keep: boolean;
}

/** A timeout as it is stored. Times are ms since 1970. */
export interface TimeoutRecord extends TimeoutKey {
  /** A new one with every `schedule`. */
  readonly generation: string;
  /** The state that is timed. */
  readonly state: string;
  /** The instance's sequence when it entered that state. */
  readonly sequence: number;
  /** When it is due. */
  readonly deadline: number;
  /** When it was scheduled. */
  readonly createdAt: number;
  /** Claims so far, including the current one and without those that were released untried. */
  readonly attempts: number;
  /** The node that claimed it last, and until when; null if it was never claimed or was released. */
  readonly claimedBy: string | null;
  /** When its claim expires; null: it is not claimed. */
  readonly claimedUntil: number | null;
  /** Given up after too many failures: not tried until it is retried or scheduled again. */
  readonly dead: boolean;
  /** Message of the last failure. */
  readonly problem: string | null;
}

export interface TimeoutClaimRequest extends TimeoutKey {
  /** As it was read: a timeout that was scheduled again since is not claimed. */
  readonly generation: string;
  readonly node: string;
  /** Drawn by the caller: repeating the same call returns the claim it already has. */
  readonly token: string;
  readonly claimMs: number;
}

export type TimeoutClaimAnswer =
  | { readonly outcome: "claimed"; readonly timeout: TimeoutRecord }
  /** Both null: another transaction is writing to it at this moment. */
  | { readonly outcome: "alreadyClaimed"; readonly by: string | null; readonly until: number | null }
  | { readonly outcome: "notFound" }
  /** Changed since it was read: scheduled again, put off after a failure, or given up. */
  | { readonly outcome: "stateChanged" };

/** The claim under which a write is made: all of it is in the write's predicate. */
export interface TimeoutFence {
  readonly generation: string;
  readonly token: string;
}

export interface TimeoutRelease extends TimeoutFence {
  /** A number: it failed and is due again after that many ms. `"never"`: it is given up. Null: not tried, due at once, not counted. */
  readonly retryInMs: number | "never" | null;
  /** Why it failed; null: unchanged. */
  readonly problem: string | null;
}

export interface ExpiredTimeouts {
  /** Due and not claimed, in the order of their due times. */
  readonly timeouts: readonly TimeoutRecord[];
  /** How long until the next one is due or its claim expires; null if there is none. */
  readonly nextMs: number | null;
}

/** A store's timeouts of all scopes. The user's code sees one scope of it. */
export interface TimeoutTable {
  /** Returns the timeout as it is now. A claim on one that it replaced is lost. */
  schedule(timeout: NewTimeout, options?: { readonly tx?: Transaction }): Promise<TimeoutRecord>;
  /** True if there was one. */
  cancel(key: TimeoutKey, options?: { readonly tx?: Transaction }): Promise<boolean>;
  get(key: TimeoutKey): Promise<TimeoutRecord | null>;
  expired(of: { readonly env: string; readonly scope: string }, limit: number): Promise<ExpiredTimeouts>;
  claim(requests: readonly TimeoutClaimRequest[]): Promise<readonly TimeoutClaimAnswer[]>;
  /** Removes them, also under an expired claim that no other node replaced. False: the claim is lost, or the row is locked. */
  complete(fences: readonly TimeoutFence[], options?: { readonly tx?: Transaction }): Promise<readonly boolean[]>;
  release(releases: readonly TimeoutRelease[]): Promise<readonly boolean[]>;

  /** Timeouts that were given up, in the order of their instances, after this one. */
  dead(
    of: { readonly env: string; readonly scope: string },
    page: { readonly limit: number; readonly after?: string },
  ): Promise<readonly TimeoutRecord[]>;
  /** Makes a timeout that was given up due now, with its attempts reset. False: there is no such timeout. */
  retry(key: TimeoutKey): Promise<boolean>;

  /**
   * Calls back with the ms until the deadline: for everything this process schedules, and for what another process schedules sooner
   * than anything it announced before. It only wakes: a lost call costs lateness and nothing else. Returns a function that ends it.
   */
  onScheduled(of: { readonly env: string; readonly scope: string }, listener: (inMs: number) => void): () => void;
}

// Commits: how the holder of a claim writes, as effects under its fence.

import type { HoldfastError } from "../../../kernel/error.js";
import type { Claim } from "../../../kernel/run/claim.js";
import type { Effect } from "../../../kernel/run/effect.js";
import type { Transaction } from "../transaction.js";

export interface Commit {
  readonly claim: Claim;
  /** The run's sequence as the holder knows it; the first effect is written at `expectedSeq + 1`. */
  readonly expectedSeq: number;
  /** At least one; a settling effect only as the last. */
  readonly effects: readonly Effect[];
}

export type CommitAnswer =
  | { readonly outcome: "accepted"; readonly seq: number; readonly inboxSeq: number }
  /** This very commit was written before; its reply had been lost. */
  | { readonly outcome: "recorded"; readonly seq: number }
  /** The row was locked by another statement: send it again. */
  | { readonly outcome: "busy" }
  /** The claim is held, but the journal is at another sequence: reload. */
  | { readonly outcome: "moved"; readonly seq: number }
  | { readonly outcome: "lost" }
  /** The data of this commit cannot be stored; the other commits of the call are not affected. */
  | { readonly outcome: "refused"; readonly error: HoldfastError };

export interface RunCommits {
  /** At most one commit per run and claim in a call. Answers are in the order of the commits. */
  commit(commits: readonly Commit[]): Promise<readonly CommitAnswer[]>;

  /**
   * A transaction of the store for a step: `work` runs its statements in it and returns the commit, entries only, that is
   * written as the last statement. Both are stored or neither. With any answer but `accepted` and `recorded` the transaction
   * was rolled back, also when `work` threw. Rejects with StoreUnavailable when the call can simply be repeated.
   */
  transact(work: (tx: Transaction) => Promise<Commit>): Promise<CommitAnswer>;
}

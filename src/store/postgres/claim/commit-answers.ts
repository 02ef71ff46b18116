// Reads the rows with which the batch statement of a commit answers.

import type { Commit, CommitAnswer } from "../../contract/run/runs.js";

export interface CommitRow {
  /** The places of the accepted commits in their batch, counted from 1, separated by commas. */
  accepted: string | null;
  /** How far their inboxes have grown, in the same order. */
  inbox_seqs: string | null;
  /** The groups in which other nodes may claim now, or when it is due. */
  ready: string | null;
  notified: string | null;
  /** A task that is ready but for its limits. */
  held: string | null;
}

/** In the order of the commits; null for one that was not accepted. */
export function acceptedOf(commits: readonly Commit[], rows: readonly CommitRow[]): (CommitAnswer | null)[] {
  const answers = new Array<CommitAnswer | null>(commits.length).fill(null);
  for (const { accepted, inbox_seqs } of rows) {
    const inboxSeqs = numbers(inbox_seqs);
    numbers(accepted).forEach((ord, i) => {
      const { expectedSeq, effects } = commits[ord - 1]!;
      answers[ord - 1] = { outcome: "accepted", seq: expectedSeq + effects.length, inboxSeq: inboxSeqs[i]! };
    });
  }
  return answers;
}

export function numbers(list: string | null): readonly number[] {
  return list === null ? [] : list.split(",").map(Number);
}

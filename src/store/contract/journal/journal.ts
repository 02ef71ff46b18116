// The ordered, gap-free log of what happened in a run. Only the holder of the claim appends, through commits.

import type { Payload } from "../../../kernel/codec/payload.js";
import { HoldfastError } from "../../../kernel/error.js";
import type { RunState } from "../../../kernel/run/run-state.js";

/** One entry of a run's journal. */
export interface JournalEntry {
  /** Its place, from 1, without gaps. */
  readonly seq: number;
  /** The claim under which it was written; 0 for entries of the store itself (start, cancel, dead letter). */
  readonly epoch: number;
  /** What it records, such as `step`. */
  readonly kind: string;
  /** The name of the call. */
  readonly name: string;
  /** Distinguishes calls of one name; null: it has none. */
  readonly key: string | null;
  /** The recorded value; null: none. */
  readonly payload: Payload | null;
  /** When it was written; ms since 1970 on the database's clock. */
  readonly at: number;
}

export interface JournalPage {
  readonly entries: readonly JournalEntry[];
  /** The run's sequence and base when the entries were read, in one snapshot. */
  readonly seq: number;
  readonly baseSeq: number;
}

/** One entry of another run: its input, or its end. */
export interface Peek {
  readonly runId: string;
  readonly what: "start" | "end";
}

export interface Peeked {
  readonly state: RunState;
  /** Null: it has not ended. */
  readonly entry: JournalEntry | null;
}

/** The input of a task, returned with its claim to save a round trip. Only short entries; the task reads the others. */
export interface Given extends Peek, Peeked {
  readonly entry: JournalEntry;
}

/**
 * What a claim includes, to keep its answer short: the results of a task with at most this many needs, the log of a run with at most
 * this many entries, each of at most this many bytes.
 */
export const GIVEN = { needs: 8, entries: 16, bytes: 2000 };

export interface JournalStore {
  /**
   * The entries of the current generation with `seq > after`, in order (all of them, or `limit`).
   * Throws `JournalCorrupt` on a gap; returns null when there is no such run.
   */
  read(runId: string, options?: { readonly after?: number; readonly limit?: number }): Promise<JournalPage | null>;

  /** Single entries of many runs, in the order asked for; null when there is no such run. */
  peek(wanted: readonly Peek[]): Promise<readonly (Peeked | null)[]>;

  /** The last entry of kind `set` with this name, of any generation; null when there is none. */
  lastSet(runId: string, name: string): Promise<JournalEntry | null>;
}

/** An entry of the journal is missing. Nothing is guessed and nothing executed: the run ends dead, for a person to examine. */
export class JournalCorrupt extends HoldfastError {
  readonly code = "JOURNAL_CORRUPT";
  readonly runId: string;
  readonly missingSeq: number;

  constructor(runId: string, missingSeq: number) {
    super(
      `The journal of run ${runId} has no entry ${missingSeq}. Nothing was executed; ` +
        "restore the entry from a backup and retry the run, or start a new one.",
    );
    this.runId = runId;
    this.missingSeq = missingSeq;
  }
}

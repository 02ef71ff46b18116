// Retention of runs: archiving and deleting those that ended some time ago. Nodes delete by themselves, see `cleanUp`.

import type { EndedState } from "../../../kernel/run/run-state.js";

/** Runs of an env that have ended. */
export interface EndedRuns {
  readonly env: string;
  /** Those that ended at least this long ago. */
  readonly endedBeforeMs: number;
  /** Omitted: every ended state. */
  readonly states?: readonly EndedState[];
  readonly program?: string;
  readonly queue?: string;
  /** Only these, at most 1,000. */
  readonly runIds?: readonly string[];
}

export interface RunRetention {
  /**
   * Archives ended runs, those that ended first before others: they leave the lists, and their keys are free again. Skips runs that
   * are locked. Returns how many. A large number is archived in batches, each of which is atomic.
   */
  archive(options: EndedRuns & { readonly limit: number }): Promise<number>;

  /**
   * Deletes ended runs with their journal, inbox and keys, in the same order and batches. A key that is reserved for a longer time
   * is kept for that time. A child is kept while its parent lives, and while its parent can be retried and is not deleted by the
   * same call.
   */
  prune(options: EndedRuns & { readonly limit: number }): Promise<number>;

  /** How many runs `prune` would delete, by state. Reads only. */
  countPrunable(options: EndedRuns): Promise<Readonly<Partial<Record<EndedState, number>>>>;
}

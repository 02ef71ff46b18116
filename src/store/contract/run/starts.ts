// Starting runs: each is inserted once, alone or with others, also in a transaction of the caller.

import type { HoldfastError } from "../../../kernel/error.js";
import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { Transaction } from "../transaction.js";

export type InsertAnswer =
  | { readonly outcome: "inserted"; readonly runId: string }
  | { readonly outcome: "existing"; readonly runId: string }
  | { readonly outcome: "conflict"; readonly runId: string }
  | { readonly outcome: "refused"; readonly runId: string; readonly error: HoldfastError };

export interface RunStarts {
  /** The numbers of these groups, in the same order; created when new. */
  groupIds(groups: readonly RunGroup[]): Promise<readonly number[]>;

  /** With a transaction: only INSERTs, visible when the caller commits. Answers are in the order of the runs. */
  insert(runs: readonly NewRun[], options?: { readonly tx?: Transaction }): Promise<readonly InsertAnswer[]>;

  /** The run that was started last under this key, also when the key is free again; null: none, or it was pruned. */
  findKey(key: { readonly env: string; readonly scope: string; readonly key: string }): Promise<string | null>;

  /** The dedupe key a run was started under; null: none, or it is free again. */
  keyOf(runId: string): Promise<{ readonly scope: string; readonly key: string } | null>;
}

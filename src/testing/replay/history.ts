// Recorded histories of runs: their journals as JSON, to be replayed against other code.

import { InvalidInput } from "../../kernel/error.js";
import type { RunState } from "../../kernel/run/run-state.js";
import type { JournalEntry } from "../../store/contract/journal/journal.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { Store } from "../../store/contract/store.js";

const FORMAT = 1;

/** The current generation of one run. */
export interface RunHistory {
  readonly id: string;
  readonly program: string;
  readonly queue: string;
  readonly version: string | null;
  readonly state: RunState;
  readonly generation: number;
  readonly failures: number;
  readonly parentId: string | null;
  readonly entries: readonly JournalEntry[];
}

/** What `holdfast histories export` writes. */
export interface Histories {
  readonly format: number;
  readonly histories: readonly RunHistory[];
}

export function historiesOf(histories: readonly RunHistory[]): Histories {
  return { format: FORMAT, histories };
}

/** Null: the run was pruned meanwhile. */
export async function readHistory(store: Store, run: RunRecord): Promise<RunHistory | null> {
  const { id, group, state, generation, failures, parentId } = run;
  const { program, queue, version } = group;
  const page = await store.journal.read(id);
  if (!page || page.entries.length === 0) return null;
  return { id, program, queue, version, state, generation, failures, parentId, entries: page.entries };
}

/** Checks what was read from a file. */
export function checkHistories(given: Histories): readonly RunHistory[] {
  const { format, histories } = (given ?? {}) as Partial<Histories>;
  if (format !== FORMAT) throw new InvalidInput("histories.format", `must be ${FORMAT}; export them again`);
  if (!Array.isArray(histories)) throw new InvalidInput("histories.histories", "must be a list");
  for (const [i, { id, program, entries }] of histories.entries()) {
    if (typeof id === "string" && typeof program === "string" && entries?.length > 0) continue;
    throw new InvalidInput(`histories.histories[${i}]`, "must have id, program and entries");
  }
  return histories;
}

// Recorded histories of runs: their journals as JSON, to be replayed against other code.

import { InvalidInput } from "../../kernel/error.js";
import type { RunState } from "../../kernel/run/run-state.js";
import type { JournalEntry } from "../../store/contract/journal/journal.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { Store } from "../../store/contract/store.js";

const FORMAT = 1;

/** The current generation of one run. */
export interface RunHistory {
  /** The id of the run. */
  readonly id: string;
  /** The name of its program. */
  readonly program: string;
  /** The queue of the run. */
  readonly queue: string;
  /** The version it is pinned to; null: none. */
  readonly version: string | null;
  /** Its state when it was exported. */
  readonly state: RunState;
  /** Its generation when it was exported. */
  readonly generation: number;
  /** How often it had failed. */
  readonly failures: number;
  /** The run that started it; null: none did. */
  readonly parentId: string | null;
  /** Its journal. */
  readonly entries: readonly JournalEntry[];
}

/** What `holdfast histories export` writes. */
export interface Histories {
  /** The version of this format. */
  readonly format: number;
  /** The exported runs. */
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

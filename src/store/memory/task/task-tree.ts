// Finds a run with its tasks, and theirs, in the journals, which name them.

import { compareText } from "../table/names.js";
import type { JournalRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/** The tasks that a run started in its current generation. */
export function tasksOf(tables: Tables, row: RunRow): RunRow[] {
  return namedBy(tables, row).flatMap(({ key }) => tables.runs.get(key!) ?? []);
}

export function hasTasks(tables: Tables, row: RunRow): boolean {
  return namedBy(tables, row).length > 0;
}

/** The run whose task it is, also of an earlier generation; null when it is not a task. */
export function taskOf(tables: Tables, { id, parentId }: RunRow): string | null {
  const log = [...(parentId === null ? [] : (tables.journal.get(parentId)?.values() ?? []))];
  return log.some(({ kind, key }) => kind === "task" && key === id) ? parentId : null;
}

function namedBy(tables: Tables, { id, baseSeq }: RunRow): JournalRow[] {
  const log = [...(tables.journal.get(id)?.values() ?? [])];
  return log.filter(({ kind, seq }) => kind === "task" && seq > baseSeq);
}

/** In the order of their ids. */
export function taskTree(tables: Tables, root: RunRow): RunRow[] {
  const found = [root];
  for (const row of found) found.push(...tasksOf(tables, row));
  return found.sort((a, b) => compareText(a.id, b.id));
}

// Counts the end of a task in the rows that wait for it: its parent's, and those of the tasks that need it.

import { moveRun } from "../run/move-run.js";
import { compareText } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/** The runs that wait for the end of a task, each once. */
export function waitersOf(tables: Tables, { id, parentId }: RunRow): readonly string[] {
  const needing = tables.needs.get(id) ?? [];
  return parentId === null ? needing : [parentId, ...needing];
}

/**
 * Ready tasks are one microsecond apart, in the order of their ids. `over`: runs that ended in the same call no longer
 * wait.
 */
export function countDown(tables: Tables, ended: readonly RunRow[], nowUs: number, over = ended): void {
  const fed = new Map<string, number>();
  for (const row of ended) for (const id of waitersOf(tables, row)) fed.set(id, (fed.get(id) ?? 0) + 1);
  for (const { id } of over) fed.delete(id);
  const inOrder = [...fed].sort(([a], [b]) => compareText(a, b));
  for (const [position, [id, n]] of inOrder.entries()) {
    const row = tables.runs.get(id);
    if (!row) continue;
    const last = row.pending <= n;
    row.pending = Math.max(row.pending - n, 0);
    if (last && (row.state === "blocked" || row.state === "parked")) {
      row.availableAtUs = nowUs + position;
      moveRun(tables, row, "waiting");
    }
    // A run that is already waiting in a line is evaluated, too.
    if (row.state === "waiting" || row.state === "held") tables.ready.add(row);
  }
}

// Retries the tasks of a failed run that did not succeed; the run itself is retried after them.

import { isEnded, type RunState } from "../../../kernel/run/run-state.js";
import type { RetryCall } from "../../contract/run/retry.js";
import { appendEntry } from "../journal/append-entry.js";
import { moveRun, nextGeneration } from "../run/move-run.js";
import { compareText } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { tasksOf, taskTree } from "./task-tree.js";

const TRIED_AGAIN: readonly RunState[] = ["failed", "dead", "quarantined", "cancelled"];

/** Failed and cancelled tasks, and the skipped ones behind them; what each waits for is counted again. */
export function retryTasks(tables: Tables, roots: readonly RunRow[], { by, callId }: RetryCall, nowUs: number): void {
  const tree = [...new Set(roots.flatMap((root) => taskTree(tables, root)))];
  const tasks = tree.filter((row) => !roots.includes(row));
  const opened = new Set(tasks.filter(({ state }) => TRIED_AGAIN.includes(state)));
  for (const { id } of opened) {
    const behind = (tables.needs.get(id) ?? []).flatMap((needing) => tables.runs.get(needing) ?? []);
    for (const row of behind) if (row.state === "skipped" && tree.includes(row)) opened.add(row);
  }
  const live = tree.filter((row) => !isEnded(row.state) || opened.has(row));
  const needs = (row: RunRow) => live.filter(({ id }) => tables.needs.get(id)?.includes(row.id)).length;
  const own = (row: RunRow) => tasksOf(tables, row).filter((task) => live.includes(task)).length;
  const inOrder = [...opened].sort((a, b) => compareText(a.id, b.id));
  const waits = new Map(inOrder.map((row) => [row, { needs: needs(row), own: own(row) }]));
  for (const root of roots) root.pending = own(root);
  for (const [position, row] of inOrder.entries()) {
    const { needs, own } = waits.get(row)!;
    nextGeneration(row);
    row.counts = true;
    row.pending = needs + own;
    row.failures = 0;
    row.crashes = 0;
    row.endedAtUs = null;
    row.archivedAtUs = null;
    row.availableAtUs = nowUs + position;
    moveRun(tables, row, needs > 0 ? "blocked" : "waiting");
    tables.ready.add(row);
    appendEntry(tables, row, { kind: "retried", name: by, key: callId, payload: null }, nowUs);
    forget(tables, row.id, "cancel");
    if (row.parentId !== null) forget(tables, row.parentId, `child:${row.id}`);
  }
}

/** Removes the report of its failure: otherwise the next one would not be delivered. */
function forget(tables: Tables, runId: string, key: string): void {
  const kept = (tables.inbox.get(runId) ?? []).filter((message) => message.key !== key);
  tables.inbox.set(runId, kept);
}

// Retries ended runs for an operator: from where they stopped, or from the start.

import { isEnded } from "../../../kernel/run/run-state.js";
import { isRetryable, type RetryAnswer, type RetryCall } from "../../contract/run/retry.js";
import { appendEntry } from "../journal/append-entry.js";
import { wrote } from "../journal/read-journal.js";
import { compareText } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { retryTasks } from "../task/retry-tasks.js";
import { taskOf, tasksOf } from "../task/task-tree.js";
import { cancelTasks } from "./cancel-run.js";
import { CLOSED } from "./end-run.js";
import { moveRun, nextGeneration } from "./move-run.js";

export function retryRuns(tables: Tables, runIds: readonly string[], options: RetryCall): readonly RetryAnswer[] {
  const nowUs = tables.nowUs();
  if (!options.fromStart) retryTasks(tables, rootsOf(tables, runIds, options), options, nowUs);
  return runIds.map((id): RetryAnswer => {
    const row = tables.runs.get(id);
    if (!row) return { outcome: "unknown" };
    const mine = !isEnded(row.state) && wrote(tables, row, options.callId);
    const of = taskOf(tables, row);
    // A quarantined task has not ended and is still waited for: it is the only kind of task that can be retried alone,
    // where it stopped.
    const opens = of === null || (row.state === "quarantined" && !options.fromStart);
    if (!opens && !mine) return { outcome: "task", of: of! };
    if (!mayOpen(row, options) && !mine) return { outcome: "not retryable", state: row.state };
    if (!mine) open(tables, row, options, nowUs);
    return { outcome: "retried" };
  });
}

/** A completed run is opened when tasks of it were, or to be rewound. */
function mayOpen({ state, pending }: RunRow, { tasks, rewinds }: RetryCall): boolean {
  return isRetryable(state, rewinds) || (state === "completed" && tasks !== undefined && pending > 0);
}

/** Those that will be retried. */
function rootsOf(tables: Tables, runIds: readonly string[], { tasks }: RetryCall): RunRow[] {
  const rows = [...new Set(runIds)].flatMap((id) => tables.runs.get(id) ?? []);
  const opens = ({ state }: RunRow) => isRetryable(state) || (state === "completed" && tasks !== undefined);
  return rows.filter((row) => opens(row) && taskOf(tables, row) === null);
}

/** Those that are to start over and have open tasks, by id. */
export function busyRuns(tables: Tables, runIds: readonly string[], options: RetryCall): RunRow[] {
  const busy = options.fromStart ? rootsOf(tables, runIds, options).filter(({ pending }) => pending > 0) : [];
  return busy.sort((a, b) => compareText(a.id, b.id));
}

/** Waiting tasks are cancelled, running ones asked to stop; their ends are not counted. */
export function leaveTasks(tables: Tables, root: RunRow, by: string): void {
  cancelTasks(tables, root.id, { by, reason: "its run starts over" });
  for (const task of tasksOf(tables, root)) task.counts = false;
}

function open(tables: Tables, row: RunRow, { by, callId, fromStart, note }: RetryCall, nowUs: number): void {
  const start = tables.journal.get(row.id)?.get(row.baseSeq + 1);
  nextGeneration(row);
  row.availableAtUs = nowUs;
  moveRun(tables, row, "waiting");
  if (fromStart) {
    row.baseSeq = row.seq;
    row.pending = 0;
  }
  const kind = fromStart ? "start" : "retried";
  appendEntry(
    tables,
    row,
    { kind, name: by, key: callId, payload: (fromStart ? start?.payload : note) ?? null },
    nowUs,
  );
  row.failures = 0;
  row.crashes = 0;
  row.endedAtUs = null;
  row.archivedAtUs = null;
  const messages = (tables.inbox.get(row.id) ?? []).filter(({ key }) => key !== "cancel");
  for (const message of messages) if (message.takenSeq === CLOSED) message.takenSeq = null;
  tables.inbox.set(row.id, messages);
}

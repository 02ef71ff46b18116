// Retries the tasks of an ended run: those that did not succeed, or those that are named, and what needs them. The run itself
// is retried after them.

import { isEnded, type RunState } from "../../../kernel/run/run-state.js";
import type { RetryCall } from "../../contract/run/retry.js";
import { appendEntry } from "../journal/append-entry.js";
import { wrote } from "../journal/read-journal.js";
import { moveRun, nextGeneration } from "../run/move-run.js";
import { compareText } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { tasksOf, taskTree } from "./task-tree.js";

const TRIED_AGAIN: readonly RunState[] = ["failed", "dead", "quarantined", "cancelled"];

/** What each opened task waits for is counted again, and what a blocked one behind it waits for. */
export function retryTasks(tables: Tables, roots: readonly RunRow[], call: RetryCall, nowUs: number): void {
  const tree = [...new Set(roots.flatMap((root) => taskTree(tables, root)))];
  const { opened, fresh, begun } = chosen(tables, roots, tree, call);
  const live = tree.filter((row) => !isEnded(row.state) || opened.has(row));
  const needs = (row: RunRow) => live.filter(({ id }) => tables.needs.get(id)?.includes(row.id)).length;
  const own = (row: RunRow) => tasksOf(tables, row).filter((task) => live.includes(task)).length;
  const inOrder = [...opened].sort((a, b) => compareText(a.id, b.id));
  const waits = new Map(inOrder.map((row) => [row, { needs: needs(row), own: fresh.has(row) ? 0 : own(row) }]));
  for (const root of roots) root.pending = own(root);
  const blocked = [...opened].flatMap((row) => behind(tables, tree, row));
  for (const row of blocked) if (!isEnded(row.state) && !opened.has(row) && !begun.has(row)) row.pending = needs(row);
  for (const [position, row] of inOrder.entries()) {
    const { needs, own } = waits.get(row)!;
    row.pending = needs + own;
    row.availableAtUs = nowUs + position;
    open(tables, row, { call, fresh: fresh.has(row), nowUs });
    moveRun(tables, row, needs > 0 ? "blocked" : "waiting");
    tables.ready.add(row);
  }
}

interface Opening {
  readonly call: RetryCall;
  readonly fresh: boolean;
  readonly nowUs: number;
}

/** A fresh one begins again with the input it had. */
function open(tables: Tables, row: RunRow, { call: { by, callId }, fresh, nowUs }: Opening): void {
  const start = tables.journal.get(row.id)?.get(row.baseSeq + 1);
  nextGeneration(row);
  row.counts = true;
  row.failures = 0;
  row.crashes = 0;
  row.endedAtUs = null;
  row.archivedAtUs = null;
  if (fresh) row.baseSeq = row.seq;
  const [kind, payload] = fresh ? (["start", start?.payload ?? null] as const) : (["retried", null] as const);
  appendEntry(tables, row, { kind, name: by, key: callId, payload }, nowUs);
  forget(tables, row.id, "cancel");
  if (row.parentId !== null) forget(tables, row.parentId, `child:${row.id}`);
}

interface Chosen {
  readonly opened: ReadonlySet<RunRow>;
  /** Of these, the ones that begin again. */
  readonly fresh: ReadonlySet<RunRow>;
  /** Has begun, so that its needs must stay ended; or has ended while its own tasks work. */
  readonly begun: ReadonlySet<RunRow>;
}

/**
 * Tasks that continue where they were, and those behind them, which saw their ends and begin again, like a completed one. A
 * fan-out that begins again starts new items: its old ones stay as they are.
 */
function chosen(tables: Tables, roots: readonly RunRow[], tree: readonly RunRow[], call: RetryCall): Chosen {
  const { tasks, callId } = call;
  const all = tasks === undefined || call.after === true;
  const begun = new Set(tree.filter((row) => !roots.includes(row) && isBegun(tables, tree, row, all)));
  const above = new Set([...begun].flatMap((row) => needsOf(tables, tree, row)));
  for (const row of above) for (const need of needsOf(tables, tree, row)) above.add(need);
  const named = (row: RunRow) =>
    (tasks!.includes(row.id) && isStopped(row)) ||
    (row.parentId !== null && tasks!.includes(row.parentId) && TRIED_AGAIN.includes(row.state));
  const isSeed = (row: RunRow) => (tasks === undefined ? TRIED_AGAIN.includes(row.state) : named(row));
  const seeds = tree.filter(
    (row) => !roots.includes(row) && !above.has(row) && !wrote(tables, row, callId) && isSeed(row),
  );
  const seen = (row: RunRow) => isStopped(row) && (all || row.state === "skipped");
  const after = new Set(seeds.flatMap((row) => behind(tables, tree, row)).filter(seen));
  for (const row of after) for (const next of behind(tables, tree, row).filter(seen)) after.add(next);
  const fresh = new Set([...after, ...seeds.filter(({ state }) => state === "completed")]);
  const isOld = ({ parentId }: RunRow) => [...fresh].some(({ id }) => id === parentId);
  const opened = new Set([...seeds, ...fresh].filter((row) => !isOld(row)));
  return { opened, fresh, begun };
}

function isStopped({ state }: RunRow): boolean {
  return isEnded(state) || state === "quarantined";
}

function isBegun(tables: Tables, tree: readonly RunRow[], row: RunRow, all: boolean): boolean {
  if (isEnded(row.state)) return tasksOf(tables, row).some(({ state }) => !isEnded(state));
  const needs = needsOf(tables, tree, row);
  return needs.length > 0 && needs.every(({ state }) => isEnded(state)) && !(all && row.state === "quarantined");
}

function needsOf(tables: Tables, tree: readonly RunRow[], { id }: RunRow): RunRow[] {
  return tree.filter((row) => tables.needs.get(row.id)?.includes(id));
}

/** The tasks that need it. */
function behind(tables: Tables, tree: readonly RunRow[], { id }: RunRow): RunRow[] {
  const needing = tables.needs.get(id) ?? [];
  return tree.filter((row) => needing.includes(row.id));
}

/** Removes the report of its failure: otherwise the next one would not be delivered. */
function forget(tables: Tables, runId: string, key: string): void {
  const kept = (tables.inbox.get(runId) ?? []).filter((message) => message.key !== key);
  tables.inbox.set(runId, kept);
}

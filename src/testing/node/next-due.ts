// When something happens in the memory store by itself: the next moment that any of its rows names.

import { unreadMessages } from "../../store/memory/inbox/deliver-message.js";
import type { RunRow } from "../../store/memory/table/rows.js";
import { runsInState, type Tables } from "../../store/memory/table/tables.js";

/** Tables whose rows only name past moments, or moments that nothing waits for. */
const PAST: ReadonlySet<string> = new Set([
  "journal",
  "inbox",
  "nodes",
  "leases",
  "keys",
  "instanceEvents",
  "cleanups",
]);

/**
 * The earliest future moment in any row, in milliseconds since 1970; null: nothing happens by itself. A moment that nothing
 * waits for costs one look, a missing one would be skipped: so every field with a moment counts.
 */
export function nextDueMs(tables: Tables): number | null {
  const nowUs = tables.nowUs();
  let nextUs = Number.POSITIVE_INFINITY;
  const look = (atUs: unknown) => {
    if (typeof atUs === "number" && atUs > nowUs && atUs < nextUs) nextUs = atUs;
  };
  for (const [name, table] of Object.entries(tables)) {
    if (!(table instanceof Map) || PAST.has(name) || name === "byState") continue;
    for (const value of table.values()) {
      for (const row of Array.isArray(value) ? value : [value]) for (const atUs of momentsOf(row)) look(atUs);
    }
  }
  return nextUs === Number.POSITIVE_INFINITY ? null : Math.ceil(nextUs / 1000);
}

function momentsOf(row: unknown): unknown[] {
  if (typeof row === "number") return [row];
  if (typeof row !== "object" || row === null) return [];
  return Object.entries(row).flatMap(([field, value]) => {
    if (field.endsWith("Us")) return [value];
    return field === "nextMs" && typeof value === "number" ? [value * 1000] : [];
  });
}

/** Whether a node can do something for the run now. */
export function canMove(tables: Tables, row: RunRow): boolean {
  const nowUs = tables.nowUs();
  if (row.state === "waiting") return row.availableAtUs <= nowUs;
  if (row.state === "running") return true;
  if (row.state !== "parked") return false;
  return (row.wakeAtUs !== null && row.wakeAtUs <= nowUs) || unreadMessages(tables, row.id).length > 0;
}

/** Whether any run or timer can move on without time passing. */
export function anyCanMove(tables: Tables): boolean {
  for (const state of ["running", "waiting", "parked"] as const)
    for (const row of runsInState(tables, state)) if (canMove(tables, row)) return true;
  for (const { state, dueAtUs, tryAtUs } of tables.timers.values())
    if (state === "pending" && Math.max(dueAtUs, tryAtUs) <= tables.nowUs()) return true;
  return false;
}

/** Changes with everything that happens to runs, instances, messages and timers; not with renewals and heartbeats. */
export function fingerprint(tables: Tables): string {
  const sums = [0, 0, 0, 0, 0];
  for (const { seq, epoch, generation, availableAtUs, wakeAtUs, state } of tables.runs.values()) {
    sums[0]! += seq + epoch + generation + state.length;
    sums[1]! += availableAtUs % 1e9;
    sums[2]! += (wakeAtUs ?? 0) % 1e9;
  }
  for (const { seq } of tables.instances.values()) sums[3]! += seq;
  for (const messages of tables.inbox.values()) sums[4]! += messages.length;
  const sizes = [tables.runs, tables.instances, tables.timers, tables.timeouts, tables.schedules, tables.leases];
  return [...sums, ...sizes.map(({ size }) => size)].join(" ");
}

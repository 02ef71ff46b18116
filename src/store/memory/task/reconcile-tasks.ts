// Checks that all runs waiting for tasks wait for exactly the open ones, and repairs those that do not.

import { isEnded } from "../../../kernel/run/run-state.js";
import type { Reconciled } from "../../contract/run/runs.js";
import { moveRun } from "../run/move-run.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { hasTasks, tasksOf } from "./task-tree.js";

export function reconcileTasks(
  tables: Tables,
  { env = null, stack = null }: { readonly env?: string | null; readonly stack?: string | null } = {},
): Reconciled {
  const isIn = ({ group }: RunRow) =>
    (env === null || group.env === env) && (stack === null || group.stack === null || group.stack === stack);
  const waiting = [...tables.runs.values()].filter(
    (row) => isIn(row) && !isEnded(row.state) && (row.pending > 0 || row.state === "blocked" || hasTasks(tables, row)),
  );
  const repaired = waiting.filter((row) => repair(tables, row));
  return { replayed: repaired.length, skipped: waiting.length - repaired.length };
}

function repair(tables: Tables, row: RunRow): boolean {
  const needs = [...tables.needs].flatMap(([id, by]) => (by.includes(row.id) ? (tables.runs.get(id) ?? []) : []));
  const open = [...needs, ...tasksOf(tables, row)].filter(({ state }) => !isEnded(state)).length;
  const wrong = row.pending !== open;
  row.pending = open;
  if (open > 0 || (row.state !== "blocked" && row.state !== "parked")) return wrong;
  moveRun(tables, row, "waiting");
  tables.ready.add(row);
  return true;
}

// Wakes parked runs by what is stored: a due time, or unread messages.

import { moveRun } from "../run/move-run.js";
import { compareText } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import { runsInState, type Tables } from "../table/tables.js";
import { isCalled } from "./deliver-message.js";

export function wakeParked(tables: Tables, options: { readonly limit: number }): readonly RunRow[] {
  const nowUs = tables.nowUs();
  const rows = runsInState(tables, "parked")
    .filter((row) => isDue(row, nowUs) || isCalled(tables, row))
    .sort((a, b) => wakesAt(a) - wakesAt(b) || compareText(a.id, b.id))
    .slice(0, Math.max(options.limit, 0));
  for (const [position, row] of rows.entries()) {
    row.availableAtUs = nowUs + position;
    moveRun(tables, row, "waiting");
  }
  return rows;
}

function isDue(row: RunRow, nowUs: number): boolean {
  return row.wakeAtUs !== null && row.wakeAtUs <= nowUs;
}

/** Runs that are due come before runs with messages, the earliest first. */
function wakesAt(row: RunRow): number {
  return row.wakeAtUs ?? Number.MAX_SAFE_INTEGER;
}

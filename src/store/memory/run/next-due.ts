// When the next run of some groups can be claimed: an idle node sleeps until then. Paused queues are left out.

import { isPaused } from "../limit/queues.js";
import { runsInState, type Tables } from "../table/tables.js";

export function nextDue(tables: Tables, groupIds: readonly number[]): number | null {
  const groups = new Set(groupIds);
  const due = runsInState(tables, "waiting").flatMap((row) =>
    groups.has(row.groupId) && !isPaused(tables, row) ? row.availableAtUs : [],
  );
  return due.length === 0 ? null : Math.ceil((due.reduce((a, b) => Math.min(a, b)) - tables.nowUs()) / 1000);
}

// Puts a new run's row and the first entry of its journal there; the same id again changes nothing.

import type { NewRun } from "../../kernel/new-run.js";
import { appendEntry } from "./append-entry.js";
import { copyGroup } from "./group-table.js";
import { toUs } from "./micros.js";
import type { RunRow } from "./rows.js";
import { indexRun, type Tables } from "./tables.js";

/** `position`: one microsecond each, so that what came in one batch is claimed in the batch's order. */
export function addRun(tables: Tables, run: Omit<NewRun, "key">, nowUs: number, position: number): void {
  if (tables.runs.has(run.id)) return;
  const row: RunRow = {
    id: run.id,
    groupId: tables.groups.idOf(run.group),
    group: copyGroup(run.group),
    priority: run.priority,
    crashLimit: run.crashLimit,
    parentId: run.parentId ?? null,
    createdAtUs: nowUs,
    state: "waiting",
    availableAtUs: nowUs + toUs(run.delayMs) + position,
    wakeAtUs: null,
    wakeAfter: 1,
    epoch: 0,
    token: null,
    owner: null,
    leaseUntilUs: null,
    seq: 0,
    baseSeq: 0,
    generation: 0,
    inboxSeq: 0,
    failures: 0,
    crashes: 0,
    endedAtUs: null,
    archivedAtUs: null,
  };
  appendEntry(tables, row, { kind: "start", name: run.group.program, key: null, payload: run.input }, nowUs);
  tables.runs.set(row.id, row);
  indexRun(tables, row);
}

// Inserts a new run's row and the first entry of its journal; inserting the same id again changes nothing.

import type { NewLimit, NewRun } from "../../../kernel/run/new-run.js";
import { appendEntry } from "../journal/append-entry.js";
import { toUs } from "../table/micros.js";
import type { LimitRow, RunRow } from "../table/rows.js";
import { indexRun, type Tables } from "../table/tables.js";
import { noteDeferral } from "./deferred-runs.js";
import { copyGroup } from "./group-table.js";
import { noteAttributes } from "./run-attributes.js";

/** `position`: one microsecond each, so that the runs of a batch are claimed in its order. */
export interface InsertPlace {
  readonly nowUs: number;
  readonly position: number;
}

interface AddedAs {
  readonly ticket?: string | null;
  readonly task?: { readonly pending: number; readonly paused: boolean } | null;
}

/** `ticket`: set when it gathers events. `task`: what it waits for, and whether its parent is being paused. */
export function addRun(
  tables: Tables,
  run: Omit<NewRun, "key">,
  { nowUs, position }: InsertPlace,
  { ticket = null, task = null }: AddedAs = {},
): void {
  if (tables.runs.has(run.id)) return;
  const limited = (run.limits?.length ?? 0) > 0;
  const pending = task?.pending ?? 0;
  const row: RunRow = {
    id: run.id,
    groupId: tables.groups.idOf(run.group),
    group: copyGroup(run.group),
    priority: run.priority,
    crashLimit: run.crashLimit,
    recovery: run.recovery ?? null,
    parentId: run.parentId ?? null,
    createdAtUs: nowUs,
    limited,
    pending,
    counts: task !== null,
    pausing: false,
    state: task?.paused ? "paused" : pending > 0 ? "blocked" : limited ? "held" : "waiting",
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
    misfits: null,
    endedAtUs: null,
    archivedAtUs: null,
  };
  appendEntry(tables, row, { kind: "start", name: run.group.program, key: ticket, payload: run.input }, nowUs);
  tables.runs.set(row.id, row);
  indexRun(tables, row);
  noteDeferral(tables, run, nowUs);
  noteAttributes(tables, run);
  if (limited) tables.limits.set(row.id, limitsOf(row, run.limits!));
}

function limitsOf(row: RunRow, limits: readonly NewLimit[]): LimitRow[] {
  return limits.map(({ kind, key, max, perMs, overflow }, i) => ({
    runId: row.id,
    stage: i + 1,
    key: `${row.group.env}/${key}`,
    kind,
    max,
    perMs: kind === "rate" ? perMs! : null,
    overflow: overflow ?? null,
    state: i === 0 && row.state === "held" ? "waits" : "later",
    priority: kind === "serial" ? 0 : row.priority,
    availableAtUs: row.availableAtUs,
  }));
}

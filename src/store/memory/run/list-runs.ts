// Reads runs for people: one, a page of them, or their number per state.

import { lowestId } from "../../../kernel/id.js";
import type { RunState } from "../../../kernel/run/run-state.js";
import type { RunFilter, RunPage, RunRecord } from "../../contract/run/runs.js";
import { compareText } from "../table/compare-text.js";
import { toMs } from "../table/micros.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { deferralOf } from "./deferred-runs.js";
import { copyGroup } from "./group-table.js";
import { misfitOf } from "./misfits.js";

export function getRun(tables: Tables, runId: string): RunRecord | null {
  const row = tables.runs.get(runId);
  return row ? runRecord(tables, row) : null;
}

export function listRuns(
  tables: Tables,
  filter: RunFilter,
  page: { readonly limit: number; readonly before?: string },
): RunPage {
  const { limit, before } = page;
  const matching = [...tables.runs.values()]
    .filter((row) => matches(row, filter) && (before === undefined || before === null || row.id < before))
    .sort((a, b) => compareText(b.id, a.id));
  const runs = matching.slice(0, limit).map((row) => runRecord(tables, row));
  const next = matching.length > runs.length ? (runs.at(-1)?.id ?? null) : null;
  return { runs, next };
}

export function countRuns(tables: Tables, filter: RunFilter): Readonly<Partial<Record<RunState, number>>> {
  const counts: Partial<Record<RunState, number>> = {};
  for (const row of tables.runs.values()) {
    if (matches(row, filter)) counts[row.state] = (counts[row.state] ?? 0) + 1;
  }
  return counts;
}

export function matches(row: RunRow, filter: RunFilter): boolean {
  const { env, stack, states, program, queue, archived = false, from, to, owner } = filter;
  return (
    row.group.env === env &&
    (row.archivedAtUs !== null) === archived &&
    (stack === undefined || row.group.stack === stack) &&
    (states === undefined || states.includes(row.state)) &&
    (program === undefined || row.group.program === program) &&
    (queue === undefined || row.group.queue === queue) &&
    ((from ?? null) === null || row.id >= lowestId(from!)) &&
    ((to ?? null) === null || row.id < lowestId(to!)) &&
    ((owner ?? null) === null || row.owner === owner)
  );
}

export function runRecord(tables: Tables, row: RunRow): RunRecord {
  const { id, state, priority, epoch, owner, seq, baseSeq, generation, inboxSeq, failures, crashes, crashLimit } = row;
  const taken = tables.takenClaims.get(id) ?? [];
  return {
    id,
    group: copyGroup(row.group),
    state,
    priority,
    availableAt: toMs(row.availableAtUs),
    wakeAt: toMs(row.wakeAtUs),
    epoch,
    owner,
    leaseUntil: toMs(row.leaseUntilUs),
    seq,
    baseSeq,
    generation,
    inboxSeq,
    failures,
    crashes,
    crashLimit,
    parentId: row.parentId,
    recoveries: taken.length,
    recoveredFrom: taken.at(-1)?.owner ?? null,
    deferred: deferralOf(tables, row.id),
    misfit: misfitOf(tables, row),
    pending: row.pending,
    createdAt: toMs(row.createdAtUs),
    endedAt: toMs(row.endedAtUs),
    archivedAt: toMs(row.archivedAtUs),
  };
}

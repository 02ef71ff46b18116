// Reads runs for people: one, a page of them, or their number per state.

import { lowestId } from "../../../kernel/id.js";
import { omit } from "../../../kernel/omit.js";
import type { Attributes } from "../../../kernel/run/attribute.js";
import type { RunState } from "../../../kernel/run/run-state.js";
import type { RunFilter, RunPage, RunRecord, RunStore } from "../../contract/run/runs.js";
import { shown } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { deferralOf } from "./deferred-runs.js";
import { copyGroup } from "./group-table.js";
import { misfitOf } from "./misfits.js";
import { attributesOf } from "./run-attributes.js";

export function getRun(tables: Tables, runId: string): RunRecord | null {
  const row = tables.runs.get(runId);
  return row ? runRecord(tables, row) : null;
}

function listRuns(
  tables: Tables,
  filter: RunFilter,
  page: { readonly limit: number; readonly before?: string },
): RunPage {
  const { limit, before } = page;
  const matching = [...tables.runs.values()]
    .filter((row) => matches(tables, row, filter) && (before === undefined || before === null || row.id < before))
    .sort((a, b) => compareText(b.id, a.id));
  const runs = matching.slice(0, limit).map((row) => runRecord(tables, row));
  const next = matching.length > runs.length ? (runs.at(-1)?.id ?? null) : null;
  return { runs, next };
}

function countRuns(tables: Tables, filter: RunFilter): Readonly<Partial<Record<RunState, number>>> {
  const counts: Partial<Record<RunState, number>> = {};
  for (const row of tables.runs.values()) {
    if (matches(tables, row, filter)) counts[row.state] = (counts[row.state] ?? 0) + 1;
  }
  return counts;
}

export function matches(tables: Tables, row: RunRow, filter: RunFilter): boolean {
  const { env, stack, states, program, queue, archived = false, from, to, owner, parent } = filter;
  return (
    row.group.env === env &&
    (row.archivedAtUs !== null) === archived &&
    (stack === undefined || row.group.stack === stack) &&
    (states === undefined || states.includes(row.state)) &&
    (program === undefined || row.group.program === program) &&
    (queue === undefined || row.group.queue === queue) &&
    ((from ?? null) === null || row.id >= lowestId(from!)) &&
    ((to ?? null) === null || row.id < lowestId(to!)) &&
    ((owner ?? null) === null || row.owner === owner) &&
    ((parent ?? null) === null || startedBy(tables, row, parent!)) &&
    (filter.deferred === undefined || tables.deferred.has(row.id)) &&
    hasKey(tables, row, filter.keyPrefix) &&
    hasAttributes(tables, row, filter.attributes)
  );
}

function startedBy(tables: Tables, { id, parentId }: RunRow, parent: string): boolean {
  const log = [...(tables.journal.get(parent)?.values() ?? [])];
  return parentId === parent && log.some(({ kind, key }) => key === id && (kind === "enqueue" || kind === "task"));
}

function hasKey(tables: Tables, { id, group }: RunRow, prefix: string | undefined): boolean {
  if ((prefix ?? null) === null) return true;
  return [...tables.keys.values()].some(
    ({ env, key, runId }) => runId === id && env === group.env && key.startsWith(prefix!),
  );
}

function hasAttributes(tables: Tables, { id }: RunRow, wanted: Attributes | undefined): boolean {
  const own = tables.attributes.get(id) ?? {};
  return Object.entries(wanted ?? {}).every(([name, value]) => own[name] === value);
}

const OWN = ["groupId", "recovery", "limited", "counts", "pausing", "token", "wakeAfter", "misfits"] as const;

export function runRecord(tables: Tables, row: RunRow): RunRecord {
  const taken = tables.takenClaims.get(row.id) ?? [];
  return {
    ...omit(shown(row), ...OWN),
    group: copyGroup(row.group),
    recoveries: taken.length,
    recoveredFrom: taken.at(-1)?.owner ?? null,
    deferred: deferralOf(tables, row.id),
    attributes: attributesOf(tables, row.id),
    misfit: misfitOf(tables, row),
  };
}

export function memoryRecords(tables: Tables): Pick<RunStore, "get" | "list" | "count"> {
  return {
    get: async (runId) => getRun(tables, runId),
    list: async (filter, page) => listRuns(tables, filter, page),
    count: async (filter) => countRuns(tables, filter),
  };
}

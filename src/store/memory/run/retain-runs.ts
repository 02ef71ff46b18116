// Retention of ended runs: old ones are archived (out of the way, keys free), then pruned (deleted).

import { ENDED_STATES, type EndedState, isEnded } from "../../../kernel/run/run-state.js";
import { PROBE_GRACE_MS } from "../../contract/limit/breakers.js";
import { OUTPUT_SCOPE } from "../../contract/run/outputs.js";
import type { EndedRuns, RunRetention } from "../../contract/run/retention.js";
import { toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

type Limited = EndedRuns & { readonly limit: number };
type EndedRow = RunRow & { endedAtUs: number };

function archiveRuns(tables: Tables, options: Limited): number {
  const nowUs = tables.nowUs();
  const rows = oldRuns(tables, options)
    .filter((row) => row.archivedAtUs === null)
    .slice(0, Math.max(options.limit, 0));
  for (const row of rows) row.archivedAtUs = nowUs;
  return rows.length;
}

function pruneRuns(tables: Tables, options: Limited): number {
  const rows = prunable(tables, options).slice(0, Math.max(options.limit, 0));
  removeRuns(tables, rows);
  forgetRates(tables, options);
  forgetProbes(tables, { ...options, olderMs: Math.max(options.endedBeforeMs, PROBE_GRACE_MS) });
  return rows.length;
}

/** With everything that belongs to them. A key that is reserved for a longer time stays. */
export function removeRuns(tables: Tables, rows: readonly RunRow[]): void {
  for (const row of rows) {
    tables.runs.delete(row.id);
    tables.byState.get(row.state)?.delete(row);
    tables.journal.delete(row.id);
    tables.inbox.delete(row.id);
    tables.limits.delete(row.id);
    tables.deferred.delete(row.id);
    tables.attributes.delete(row.id);
    tables.takenClaims.delete(row.id);
    tables.misfits.delete(row.id);
    tables.needs.delete(row.id);
    tables.needed.delete(row.id);
  }
  const gone = new Set(rows.map((row) => row.id));
  const nowUs = tables.nowUs();
  for (const [at, { runId, scope, lifetime, untilUs }] of tables.keys) {
    if (gone.has(runId) && scope !== OUTPUT_SCOPE && !(lifetime === "timed" && untilUs! > nowUs))
      tables.keys.delete(at);
  }
}

interface Forgetting {
  readonly env: string;
  readonly limit: number;
}

/** Of probes that old only the run's end counts, and that is gone, or never came. */
export function forgetProbes(tables: Tables, { env, limit, olderMs }: Forgetting & { olderMs: number }): void {
  const oldUs = tables.nowUs() - toUs(olderMs);
  const old = [...tables.probes].filter(
    ([, probe]) => probe.env === env && probe.atUs <= oldUs && !tables.runs.has(probe.runId),
  );
  const oldest = old.sort(([, a], [, b]) => a.atUs - b.atUs || compareText(a.runId, b.runId));
  for (const [key] of oldest.slice(0, Math.max(limit, 0))) tables.probes.delete(key);
}

/** A rate whose next start is in the past means the same as none. */
function forgetRates(tables: Tables, { env, limit }: Forgetting): void {
  const nowUs = tables.nowUs();
  const past = [...tables.rates].filter(([key, nextUs]) => key.startsWith(`${env}/`) && nextUs <= nowUs);
  for (const [key] of past.slice(0, Math.max(limit, 0))) tables.rates.delete(key);
}

/** Those that ended first before others. */
function oldRuns(tables: Tables, options: EndedRuns): EndedRow[] {
  const isOld = oldBy(tables, options);
  const { env, program, queue, runIds } = options;
  return [...tables.runs.values()]
    .filter((row): row is EndedRow => row.group.env === env && isOld(row))
    .filter(({ group }) => (program ?? group.program) === group.program && (queue ?? group.queue) === group.queue)
    .filter(({ id }) => runIds?.some((one) => one.toLowerCase() === id) ?? true)
    .sort(byEnd);
}

export function byEnd(a: { id: string; endedAtUs: number }, b: { id: string; endedAtUs: number }): number {
  return a.endedAtUs - b.endedAtUs || compareText(a.id, b.id);
}

function oldBy(tables: Tables, { endedBeforeMs, states }: EndedRuns): (row: RunRow) => boolean {
  const endedByUs = tables.nowUs() - toUs(endedBeforeMs);
  return ({ state, endedAtUs }) =>
    isEnded(state) && endedAtUs !== null && endedAtUs <= endedByUs && (states?.includes(state) ?? true);
}

/** A live parent may still ask for its child's result, and so may one that is retried, unless the same call deletes it. */
function prunable(tables: Tables, options: EndedRuns): EndedRow[] {
  const isOld = oldBy(tables, options);
  const isNeededBy = (parent: RunRow | undefined) =>
    parent !== undefined &&
    !["completed", "cancelled", "skipped"].includes(parent.state) &&
    !(["failed", "dead"].includes(parent.state) && isOld(parent));
  return oldRuns(tables, options).filter(({ parentId }) => parentId === null || !isNeededBy(tables.runs.get(parentId)));
}

function countPrunable(tables: Tables, options: EndedRuns): Partial<Record<EndedState, number>> {
  const states = prunable(tables, options).map(({ state }) => state);
  const counts = ENDED_STATES.map((state) => [state, states.filter((one) => one === state).length] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

export function memoryRetention(tables: Tables): RunRetention {
  return {
    archive: async (options) => archiveRuns(tables, options),
    prune: async (options) => pruneRuns(tables, options),
    countPrunable: async (options) => countPrunable(tables, options),
  };
}

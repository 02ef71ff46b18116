// Retention of ended runs: old ones are archived (out of the way, keys free), then pruned (deleted).

import { isEnded } from "../../../kernel/run/run-state.js";
import { PROBE_GRACE_MS } from "../../contract/limit/breakers.js";
import type { RunStore } from "../../contract/run/runs.js";
import { toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export interface RetainOptions {
  readonly env: string;
  readonly endedBeforeMs: number;
  readonly limit: number;
}

function archiveRuns(tables: Tables, options: RetainOptions): number {
  const nowUs = tables.nowUs();
  const rows = oldRuns(tables, options, nowUs, (row) => row.archivedAtUs === null);
  for (const row of rows) row.archivedAtUs = nowUs;
  return rows.length;
}

function pruneRuns(tables: Tables, options: RetainOptions): number {
  const rows = oldRuns(tables, options, tables.nowUs(), (row) => !hasLiveParent(tables, row));
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
  for (const [at, key] of tables.keys) if (gone.has(key.runId)) tables.keys.delete(at);
  forgetRates(tables, options);
  forgetProbes(tables, options);
  return rows.length;
}

/** Of probes that old only the run's end counts, and that is gone, or never came. */
function forgetProbes(tables: Tables, { env, endedBeforeMs, limit }: RetainOptions): void {
  const oldUs = tables.nowUs() - toUs(Math.max(endedBeforeMs, PROBE_GRACE_MS));
  const old = [...tables.probes].filter(
    ([, probe]) => probe.env === env && probe.atUs <= oldUs && !tables.runs.has(probe.runId),
  );
  const oldest = old.sort(([, a], [, b]) => a.atUs - b.atUs || compareText(a.runId, b.runId));
  for (const [key] of oldest.slice(0, Math.max(limit, 0))) tables.probes.delete(key);
}

/** A rate whose next start is in the past means the same as none. */
function forgetRates(tables: Tables, { env, limit }: RetainOptions): void {
  const nowUs = tables.nowUs();
  const past = [...tables.rates].filter(([key, nextUs]) => key.startsWith(`${env}/`) && nextUs <= nowUs);
  for (const [key] of past.slice(0, Math.max(limit, 0))) tables.rates.delete(key);
}

function oldRuns(tables: Tables, options: RetainOptions, nowUs: number, wanted: (row: RunRow) => boolean): RunRow[] {
  const endedByUs = nowUs - toUs(options.endedBeforeMs);
  return [...tables.runs.values()]
    .filter((row): row is RunRow & { endedAtUs: number } => row.endedAtUs !== null && row.endedAtUs <= endedByUs)
    .filter((row) => row.group.env === options.env && row.state !== "quarantined" && wanted(row))
    .sort((a, b) => a.endedAtUs - b.endedAtUs || compareText(a.id, b.id))
    .slice(0, Math.max(options.limit, 0));
}

/** Its parent may still ask for this run's result. */
function hasLiveParent(tables: Tables, row: RunRow): boolean {
  const parent = row.parentId === null ? undefined : tables.runs.get(row.parentId);
  return parent !== undefined && !isEnded(parent.state);
}

export function memoryRetention(tables: Tables): Pick<RunStore, "archive" | "prune"> {
  return {
    archive: async (options) => archiveRuns(tables, options),
    prune: async (options) => pruneRuns(tables, options),
  };
}

// Kept values: read by key and in order, written all or none.

import type { KeepOptions, KeepValue, KeptQuery, KeptStore, KeptValue } from "../../contract/kept/kept.js";
import { toMs, toUs } from "../table/micros.js";
import { compareText, joinKey } from "../table/names.js";
import type { KeptRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { tablesSeenBy } from "../table/transaction.js";

export function memoryKept(tables: Tables): KeptStore {
  return {
    get: async (env, space, key) => {
      const row = tables.kept.get(joinKey(env, space, key));
      return row && isLive(row, tables.nowUs()) ? keptOf(row) : null;
    },
    list: async (query) => list(tables, query),
    put: async (values, options = {}) => put(tables, values, options),
  };
}

function list(tables: Tables, { env, space, after = "", limit }: KeptQuery): readonly KeptValue[] {
  const nowUs = tables.nowUs();
  return [...tables.kept.values()]
    .filter((row) => row.env === env && row.space === space && compareText(row.key, after) > 0 && isLive(row, nowUs))
    .sort((a, b) => compareText(a.key, b.key))
    .slice(0, Math.max(limit, 0))
    .map(keptOf);
}

function put(tables: Tables, values: readonly KeepValue[], { tx, under }: KeepOptions) {
  const seen = tablesSeenBy(tables, tx);
  const run = under && tables.runs.get(under.runId);
  const isHeld = run?.state === "running" && run.epoch === under?.epoch && run.token === under.token;
  if (under && !isHeld) return { outcome: "lost" as const };
  const atUs = tables.nowUs();
  for (const { env, space, key, value, ttlMs } of values) {
    const id = joinKey(env, space, key);
    if (value === null) seen.kept.delete(id);
    else seen.kept.set(id, { env, space, key, value, atUs, untilUs: ttlMs === null ? null : atUs + toUs(ttlMs) });
  }
  return { outcome: "kept" as const };
}

function isLive({ untilUs }: KeptRow, nowUs: number): boolean {
  return untilUs === null || untilUs > nowUs;
}

function keptOf({ key, value, atUs, untilUs }: KeptRow): KeptValue {
  return { key, value, at: toMs(atUs), until: toMs(untilUs) };
}

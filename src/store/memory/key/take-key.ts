// Dedupe keys: whether a key is free, taken or stale, and which run gets it.

import type { NewKey } from "../../../kernel/run/new-run.js";
import { isEnded } from "../../../kernel/run/run-state.js";
import { toUs } from "../table/micros.js";
import { joinKey } from "../table/names.js";
import type { KeyRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/** The row that holds the key against a new run, or null when the key may be taken. */
export function keyHolder(tables: Tables, env: string, key: NewKey, nowUs: number): KeyRow | null {
  const row = tables.keys.get(joinKey(env, key.scope, key.key));
  return row && !isStale(tables, row, nowUs) ? row : null;
}

export function takeKey(
  tables: Tables,
  { env, runId }: { readonly env: string; readonly runId: string },
  key: NewKey,
  nowUs: number,
): void {
  const { scope, payloadHash, lifetime } = key;
  const timed = typeof lifetime === "object";
  tables.keys.set(joinKey(env, scope, key.key), {
    env,
    scope,
    key: key.key,
    runId,
    payloadHash,
    lifetime: timed ? "timed" : lifetime,
    untilUs: timed ? nowUs + toUs(lifetime.forMs) : null,
  });
}

/** The lifetime it was taken with decides, not the one of the new run. */
function isStale(tables: Tables, row: KeyRow, nowUs: number): boolean {
  const run = tables.runs.get(row.runId);
  switch (row.lifetime) {
    case "live":
      return !run || isEnded(run.state);
    case "archived":
      return !run || run.archivedAtUs !== null;
    case "timed":
      return (row.untilUs ?? 0) <= nowUs;
  }
}

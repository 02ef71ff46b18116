// Named leases: acquired, renewed and finished under the same epochs and tokens as claims.

import type {
  AcquireAnswer,
  AcquireRequest,
  Lease,
  LeaseFence,
  LeaseRecord,
  LeaseStore,
} from "../../contract/lease/leases.js";
import { compareText } from "../table/compare-text.js";
import { joinKey } from "../table/join-key.js";
import { toMs, toUs } from "../table/micros.js";
import type { LeaseRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export function memoryLeases(tables: Tables): LeaseStore {
  return {
    acquire: async (request) => acquireLease(tables, request),
    renew: async (fence, leaseMs) => {
      const row = heldLease(tables, fence);
      if (row) row.leaseUntilUs = tables.nowUs() + toUs(leaseMs);
      return row !== null;
    },
    complete: async (fence) => finishLease(tables, fence, { state: "done", detail: null }),
    fail: async (fence, detail) => {
      return finishLease(tables, fence, { state: "failed", detail });
    },
    release: async (fence) => finishLease(tables, fence, { state: "done", detail: null }),
    owns: async (fence) => {
      const row = heldLease(tables, fence);
      return row !== null && row.leaseUntilUs > tables.nowUs();
    },
    reclaimExpired: async (options) => reclaimExpired(tables, options),
    get: async (env, key) => {
      const row = tables.leases.get(joinKey(env, key));
      return row ? leaseRecord(row, tables.nowUs()) : null;
    },
  };
}

function acquireLease(tables: Tables, request: AcquireRequest): AcquireAnswer {
  const { env, key, token } = request;
  const nowUs = tables.nowUs();
  const row = tables.leases.get(joinKey(env, key));
  if (row?.state === "claimed" && row.token !== null) {
    if (row.token === token) {
      if (row.leaseUntilUs <= nowUs) row.leaseUntilUs = nowUs + toUs(request.leaseMs);
      return { outcome: "acquired", lease: leaseOf(row, token) };
    }
    if (row.leaseUntilUs > nowUs) {
      return { outcome: "busy", owner: row.owner, leftMs: Math.ceil((row.leaseUntilUs - nowUs) / 1000) };
    }
  }
  const next = grantLease(tables, request, row, nowUs);
  const lease = leaseOf(next, token);
  return row?.state === "claimed"
    ? { outcome: "stolen", lease, previousOwner: row.owner }
    : { outcome: "acquired", lease };
}

function grantLease(tables: Tables, request: AcquireRequest, before: LeaseRow | undefined, nowUs: number): LeaseRow {
  const { env, key, owner, token } = request;
  const row: LeaseRow = {
    env,
    key,
    state: "claimed",
    owner,
    epoch: (before?.epoch ?? tables.leaseFloor.epoch) + 1,
    token,
    finishedToken: null,
    attempt: before && before.state !== "done" ? before.attempt + 1 : 1,
    leaseUntilUs: nowUs + toUs(request.leaseMs),
    acquiredAtUs: nowUs,
    finishedAtUs: null,
    detail: null,
  };
  tables.leases.set(joinKey(env, key), row);
  return row;
}

function finishLease(
  tables: Tables,
  fence: LeaseFence,
  end: { state: "done" | "failed"; detail: string | null },
): boolean {
  const row = heldLease(tables, fence);
  if (!row) return finishedBefore(tables, fence, end.state);
  row.state = end.state;
  row.detail = end.detail;
  row.finishedToken = fence.token;
  row.token = null;
  row.finishedAtUs = tables.nowUs();
  return true;
}

/** The answer to the same call was lost: it finds its own effect, unless the lease was acquired again since. */
function finishedBefore(tables: Tables, fence: LeaseFence, state: "done" | "failed"): boolean {
  const { env, key, epoch, token } = fence;
  const row = tables.leases.get(joinKey(env, key));
  return row !== undefined && row.state === state && row.epoch === epoch && row.finishedToken === token;
}

function heldLease(tables: Tables, fence: LeaseFence): LeaseRow | null {
  const { env, key, epoch, token } = fence;
  const row = tables.leases.get(joinKey(env, key));
  return row && row.state === "claimed" && row.epoch === epoch && row.token === token ? row : null;
}

function reclaimExpired(tables: Tables, options: { readonly env: string; readonly limit: number }): LeaseRecord[] {
  const nowUs = tables.nowUs();
  const rows = [...tables.leases.values()]
    .filter((row) => row.env === options.env && row.token !== null && row.leaseUntilUs <= nowUs)
    .sort((a, b) => a.leaseUntilUs - b.leaseUntilUs || compareText(a.key, b.key))
    .slice(0, Math.max(options.limit, 0));
  for (const row of rows) row.token = null;
  return rows.map((row) => leaseRecord(row, nowUs));
}

function leaseOf({ key, owner, epoch, attempt }: LeaseRow, token: string): Lease {
  return { key, owner, epoch, token, attempt };
}

/** The token of a finished lease belongs to its finisher; a reclaimed one has none. */
export function leaseRecord(row: LeaseRow, nowUs: number): LeaseRecord {
  const expired = row.state === "claimed" && row.leaseUntilUs <= nowUs;
  return {
    ...leaseOf(row, row.token ?? row.finishedToken ?? ""),
    env: row.env,
    state: expired ? "expired" : row.state,
    leaseUntil: toMs(row.leaseUntilUs),
    acquiredAt: toMs(row.acquiredAtUs),
    finishedAt: toMs(row.finishedAtUs),
    detail: row.detail,
  };
}

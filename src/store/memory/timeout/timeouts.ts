// Timeouts of the memory store: schedules, finds, claims and completes them, with the same answers as PostgreSQL.

import { KeyedListeners } from "../../../kernel/keyed-listeners.js";
import { omit } from "../../../kernel/omit.js";
import type {
  ExpiredTimeouts,
  NewTimeout,
  TimeoutClaimAnswer,
  TimeoutClaimRequest,
  TimeoutFence,
  TimeoutKey,
  TimeoutRecord,
  TimeoutRelease,
  TimeoutTable,
} from "../../contract/timeout/timeouts.js";
import { shown, toMs, toUs } from "../table/micros.js";
import { compareText, joinKey } from "../table/names.js";
import type { TimeoutRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { tablesSeenBy } from "../table/transaction.js";

export function memoryTimeouts(tables: Tables): TimeoutTable {
  const listeners = new KeyedListeners<number>();
  const wake = ({ env, scope }: Omit<TimeoutKey, "instance">, inMs: number) =>
    listeners.call(joinKey(env, scope), Math.max(inMs, 0));
  return {
    // Sweepers are woken before the transaction commits: it only says when to look.
    async schedule(timeout, { tx } = {}) {
      const record = schedule(tablesSeenBy(tables, tx), timeout);
      wake(record, record.deadline - record.createdAt);
      return record;
    },
    cancel: async (key, { tx } = {}) => tablesSeenBy(tables, tx).timeouts.delete(keyOf(key)),
    async get(key) {
      const row = tables.timeouts.get(keyOf(key));
      return row ? timeoutRecord(row) : null;
    },
    expired: async (of, limit) => expired(tables, of, limit),
    claim: async (requests) => requests.map((request) => claim(tables, request)),
    complete: async (fences, { tx } = {}) => fences.map((fence) => complete(tablesSeenBy(tables, tx), tables, fence)),
    release: async (releases) => releases.map((one) => release(tables, one)),
    async dead(of, { limit, after = "" }) {
      const dead = ofScope(tables, of).filter(({ dueAtUs }) => dueAtUs === null);
      const sorted = dead.sort((a, b) => compareText(a.instance, b.instance));
      const later = sorted.filter(({ instance }) => compareText(instance, after) > 0);
      return later.slice(0, Math.max(limit, 0)).map(timeoutRecord);
    },
    async retry(key) {
      const row = tables.timeouts.get(keyOf(key));
      if (!row || row.dueAtUs !== null) return false;
      const reset = { dueAtUs: tables.nowUs(), attempts: 0, problem: null, releasedToken: null };
      tables.timeouts.set(keyOf(key), { ...row, ...reset });
      wake(key, 0);
      return true;
    },
    onScheduled: ({ env, scope }, listener) => listeners.add(joinKey(env, scope), listener),
  };
}

function schedule(tables: Tables, timeout: NewTimeout): TimeoutRecord {
  const { env, scope, instance, generation, state, sequence, deadline, keep } = timeout;
  const before = tables.timeouts.get(keyOf(timeout));
  const same = before?.state === state && before.sequence === sequence;
  if (before && (before.generation === generation || (keep && same))) return timeoutRecord(before);
  const nowUs = tables.nowUs();
  const deadlineUs = "at" in deadline ? toUs(deadline.at) : nowUs + toUs(deadline.inMs);
  const row: TimeoutRow = {
    env,
    scope,
    instance,
    generation,
    state,
    sequence,
    deadlineUs,
    dueAtUs: deadlineUs,
    createdAtUs: nowUs,
    attempts: 0,
    claimedBy: null,
    claimedUntilUs: null,
    token: null,
    releasedToken: null,
    problem: null,
  };
  tables.timeouts.set(keyOf(timeout), row);
  return timeoutRecord(row);
}

function expired(tables: Tables, of: Omit<TimeoutKey, "instance">, limit: number): ExpiredTimeouts {
  const nowUs = tables.nowUs();
  const rows = ofScope(tables, of)
    .filter((row): row is TimeoutRow & { dueAtUs: number } => row.dueAtUs !== null)
    .sort((a, b) => a.dueAtUs - b.dueAtUs || compareText(a.instance, b.instance));
  const due = rows.filter(({ dueAtUs }) => dueAtUs <= nowUs);
  const next = rows[due.length];
  return {
    timeouts: due.slice(0, Math.max(limit, 0)).map(timeoutRecord),
    nextMs: next ? Math.ceil((next.dueAtUs - nowUs) / 1000) : null,
  };
}

function ofScope(tables: Tables, of: Omit<TimeoutKey, "instance">): TimeoutRow[] {
  return [...tables.timeouts.values()].filter(({ env, scope }) => env === of.env && scope === of.scope);
}

function claim(tables: Tables, request: TimeoutClaimRequest): TimeoutClaimAnswer {
  const { generation, node, token, claimMs } = request;
  const row = tables.timeouts.get(keyOf(request));
  if (!row) return { outcome: "notFound" };
  if (row.generation !== generation) return { outcome: "stateChanged" };
  const nowUs = tables.nowUs();
  if (row.dueAtUs === null || row.dueAtUs > nowUs) {
    if (row.token === token) return { outcome: "claimed", timeout: timeoutRecord(row) };
    if (row.token === null) return { outcome: "stateChanged" };
    return { outcome: "alreadyClaimed", by: row.claimedBy, until: toMs(row.claimedUntilUs) };
  }
  const untilUs = nowUs + toUs(claimMs);
  const claimed: TimeoutRow = {
    ...row,
    token,
    claimedBy: node,
    claimedUntilUs: untilUs,
    dueAtUs: untilUs,
    attempts: row.attempts + 1,
    releasedToken: null,
  };
  tables.timeouts.set(keyOf(row), claimed);
  return { outcome: "claimed", timeout: timeoutRecord(claimed) };
}

/** `seen`: the tables as the caller's transaction sees them; `all`: as committed. */
function complete(seen: Tables, all: Tables, fence: TimeoutFence): boolean {
  const known = rowOf(all, fence);
  const row = known && seen.timeouts.get(keyOf(known));
  if (!row || row.generation !== fence.generation || row.token !== fence.token) return false;
  return seen.timeouts.delete(keyOf(row));
}

function release(tables: Tables, { retryInMs, problem, ...fence }: TimeoutRelease): boolean {
  const row = rowOf(tables, fence);
  if (!row) return false;
  // The reply to this call was lost, and it was repeated: it finds its own effect.
  if (row.token !== fence.token) return row.releasedToken === fence.token;
  tables.timeouts.set(keyOf(row), {
    ...row,
    token: null,
    claimedBy: null,
    claimedUntilUs: null,
    releasedToken: fence.token,
    dueAtUs: retryInMs === "never" ? null : retryInMs === null ? row.deadlineUs : tables.nowUs() + toUs(retryInMs),
    attempts: row.attempts - (retryInMs === null ? 1 : 0),
    problem: problem ?? row.problem,
  });
  return true;
}

function rowOf(tables: Tables, fence: TimeoutFence): TimeoutRow | undefined {
  return [...tables.timeouts.values()].find(({ generation }) => generation === fence.generation);
}

function keyOf({ env, scope, instance }: TimeoutKey): string {
  return joinKey(env, scope, instance);
}

export function timeoutRecord(row: TimeoutRow): TimeoutRecord {
  return { ...omit(shown(row), "dueAt", "token", "releasedToken"), dead: row.dueAtUs === null };
}

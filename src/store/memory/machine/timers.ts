// Claims due timers for the duration of a lease, and settles those that could not be fired.

import type { ClaimedTimers, TimerClaim, TimerSettlement } from "../../contract/machine/machines.js";
import { toMs, toUs } from "../table/micros.js";
import type { TimerRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { byDeadline, loadedInstance, lookAtUs, timerRecord } from "./instance-records.js";

export function claimTimers(tables: Tables, claim: TimerClaim): ClaimedTimers {
  const { groups, limit, leaseMs, mostAttempts, owner = null, gone = [] } = claim;
  const nowUs = tables.nowUs();
  const ids = new Set(groups.map((group) => tables.groups.idOf(group)));
  const pending = [...tables.timers.values()].filter(({ groupId, state }) => state === "pending" && ids.has(groupId));
  const isFree = (row: TimerRow) => lookAtUs(row) <= nowUs || (row.claimedBy !== null && gone.includes(row.claimedBy));
  const due = pending.filter((row) => row.tryAtUs <= nowUs && isFree(row));
  const taken = [...ids]
    .flatMap((id) => firstOf(due, id, limit))
    .sort(byDeadline)
    .map((row): TimerRow => {
      const dies = row.attempts >= mostAttempts;
      const problem = dies ? (row.problem ?? "The node that claimed this timer died before firing it.") : row.problem;
      const next = { attempts: row.attempts + 1, claimedUntilUs: nowUs + toUs(leaseMs), claimedBy: owner, problem };
      return { ...row, ...next, state: dies ? "dead" : "pending" };
    });
  for (const row of taken) tables.timers.set(row.id, row);
  const held = pending.filter((row) => row.tryAtUs <= nowUs && lookAtUs(row) > nowUs);
  const firstHeld = [...ids].flatMap((id) => firstOf(held, id, limit));
  const later = [...firstHeld, ...pending.filter(({ tryAtUs }) => tryAtUs > nowUs)].map((row) => lookAtUs(row) - nowUs);
  const nextMs = later.length > 0 ? Math.ceil(later.reduce((a, b) => Math.min(a, b)) / 1000) : null;
  const keys = new Set(taken.map(({ instanceKey }) => instanceKey));
  return {
    now: toMs(nowUs),
    timers: taken.map(timerRecord),
    instances: [...keys].flatMap((key) => {
      const row = tables.instances.get(key);
      return row ? loadedInstance(row) : [];
    }),
    nextMs: taken.length >= limit ? 0 : nextMs,
  };
}

function firstOf(rows: readonly TimerRow[], group: number, limit: number): TimerRow[] {
  const mine = rows.filter(({ groupId }) => groupId === group);
  return mine.sort((a, b) => a.tryAtUs - b.tryAtUs).slice(0, limit);
}

export function settleTimers(tables: Tables, settlements: readonly TimerSettlement[]): number {
  const nowUs = tables.nowUs();
  return settlements.filter(({ id, generation, attempts: taken, as, delayMs, problem }) => {
    const row = tables.timers.get(id);
    if (!row || row.generation !== generation || row.attempts !== taken) return false;
    if (as === "drop") return tables.timers.delete(id);
    const state = as === "dead" ? "dead" : "pending";
    const attempts = as === "keep" ? 0 : Math.max(taken - (as === "untried" ? 1 : 0), 0);
    const told = as === "untried" ? (problem ?? row.problem) : problem;
    const tryAtUs = nowUs + toUs(delayMs);
    tables.timers.set(id, { ...row, state, attempts, problem: told, tryAtUs, claimedUntilUs: null });
    return true;
  }).length;
}

// Whether a node is live, judged by its presence lock and its signs of life.

import type { Witness } from "../../contract/node/house.js";
import {
  DEFAULT_GRACE_MS,
  DEFAULT_HEARTBEAT_MS,
  DEFAULT_WATCH_MS,
  MANY_LOST,
  MISSED_HEARTBEATS,
  SILENT_HEARTBEATS,
  TROUBLE_FACTOR,
  WATCHED_HEARTBEATS,
} from "../../contract/node/presence.js";
import { toUs } from "../table/micros.js";
import type { NodeRow } from "../table/rows.js";
import { runsInState, type Tables } from "../table/tables.js";

export function isHere(tables: Tables, { incarnation }: NodeRow): boolean {
  return tables.presence.held.has(incarnation);
}

export function isHeard(tables: Tables, row: NodeRow): boolean {
  return tables.nowUs() - row.seenAtUs <= toUs(heartbeatsMs(row));
}

/** No sign of life for as long as its claims would have held with renewals. */
export function isSilent(tables: Tables, row: NodeRow): boolean {
  return tables.nowUs() - row.seenAtUs > toUs(Math.max(row.leaseMs ?? 0, heartbeatsMs(row)));
}

/** For a start that would take its place: a missing presence proves a death, unless there was a sign of life since. */
export function isLive(tables: Tables, row: NodeRow): boolean {
  if (row.stoppedAtUs !== null || isSilent(tables, row)) return false;
  const isYoung = tables.presence.serverStartedAtUs > tables.nowUs() - toUs(2_000) && isHeard(tables, row);
  const isBack = row.absentSinceUs !== null && row.seenAtUs >= row.absentSinceUs;
  return !row.attends || isHere(tables, row) || isBack || isYoung;
}

/** Records since when each node of the env is missing. */
export function noteMissing(tables: Tables, env: string, except: string | null = null): void {
  const nowUs = tables.nowUs();
  for (const row of tables.nodes.values()) {
    if (row.env !== env || row.stoppedAtUs !== null || !row.attends || row.incarnation === except) continue;
    row.absentSinceUs = isHere(tables, row) ? null : (row.absentSinceUs ?? nowUs);
  }
}

/** When each missing node of the witness's env is gone, judged by its own registered settings. */
export function departing(tables: Tables, { env, watchedMs, troubled }: Witness): ReadonlyMap<string, number> {
  const nowUs = tables.nowUs();
  const attending = [...tables.nodes.values()].filter(
    (row) => row.env === env && row.stoppedAtUs === null && row.attends,
  );
  const missing = attending.filter((row) => !isHere(tables, row));
  const sinceUs = (row: NodeRow) => row.absentSinceUs ?? nowUs;
  const isSudden = (row: NodeRow) => row.seenAtUs > sinceUs(row) - toUs(heartbeatsMs(row));
  return new Map(
    missing.map((row) => {
      const [graceUs, silenceUs] = [toUs(graceMs(row)), toUs(silenceMs(row))];
      const lost = missing.filter((other) => isSudden(other) && Math.abs(sinceUs(other) - sinceUs(row)) <= silenceUs);
      const isDoubtful =
        (troubled && sinceUs(row) <= nowUs + silenceUs - toUs(watchedMs)) ||
        tables.presence.serverStartedAtUs > nowUs - TROUBLE_FACTOR * silenceUs ||
        (lost.length >= MANY_LOST && lost.length >= attending.length - missing.length);
      const factor = isDoubtful ? TROUBLE_FACTOR : 1;
      const watchedUs = nowUs + factor * graceUs - toUs(watchedMs);
      const at = Math.max(sinceUs(row) + factor * graceUs, heardUs(tables, row) + factor * silenceUs, watchedUs);
      return [row.incarnation, at] as const;
    }),
  );
}

/** A claim and its renewal are signs of life, too; the leases of a solitary node never expire, and prove nothing. */
function heardUs(tables: Tables, { incarnation, seenAtUs, leaseMs, alone }: NodeRow): number {
  if (alone || leaseMs === null) return seenAtUs;
  const held = runsInState(tables, "running").filter(({ owner }) => owner === incarnation);
  return Math.max(seenAtUs, ...held.map(({ leaseUntilUs }) => (leaseUntilUs ?? 0) - toUs(leaseMs)));
}

/** A solitary node renews nothing: it is gone when it has been silent for the duration of its lease. */
export function goneNodes(tables: Tables, witness: Witness): ReadonlySet<string> {
  const nowUs = tables.nowUs();
  const gone = [...departing(tables, witness)].flatMap(([incarnation, atUs]) => (atUs <= nowUs ? incarnation : []));
  const silent = [...tables.nodes.values()].filter(
    (row) => row.alone && row.env === witness.env && isSilent(tables, row) && hasWatched(row, witness),
  );
  return new Set([...gone, ...silent.map(({ incarnation }) => incarnation)]);
}

/** Long enough that after an outage this holder had the chance to renew first. */
export function hasWatched(holder: NodeRow | undefined, { watchedMs }: Witness): boolean {
  return watchedMs >= WATCHED_HEARTBEATS * (holder?.heartbeatMs ?? DEFAULT_WATCH_MS);
}

function graceMs({ presenceGraceMs }: NodeRow): number {
  return presenceGraceMs ?? DEFAULT_GRACE_MS;
}

function silenceMs(row: NodeRow): number {
  return Math.max(graceMs(row), SILENT_HEARTBEATS * (row.heartbeatMs ?? DEFAULT_HEARTBEAT_MS));
}

function heartbeatsMs({ heartbeatMs }: NodeRow): number {
  return MISSED_HEARTBEATS * (heartbeatMs ?? DEFAULT_HEARTBEAT_MS);
}

// The whole content of the memory store as plain sorted rows, which the differential test compares with PostgreSQL's
// tables.

import type { Payload } from "../../../src/kernel/codec/payload.js";
import type { DefinitionRecord } from "../../../src/store/contract/definition/definitions.js";
import type { Subscription } from "../../../src/store/contract/event/events.js";
import type { Message } from "../../../src/store/contract/inbox/inbox.js";
import type { JournalEntry } from "../../../src/store/contract/journal/journal.js";
import type { LeaseRecord } from "../../../src/store/contract/lease/leases.js";
import type { InstanceEvent, LoadedInstance, TimerRecord } from "../../../src/store/contract/machine/machines.js";
import type { NodeRecord } from "../../../src/store/contract/node/nodes.js";
import type { RunRecord } from "../../../src/store/contract/run/runs.js";
import type { ScheduleRecord } from "../../../src/store/contract/schedule/schedules.js";
import type { Store } from "../../../src/store/contract/store.js";
import type { TimeoutRecord } from "../../../src/store/contract/timeout/timeouts.js";
import { loadedInstance, timerRecord } from "../../../src/store/memory/machine/instance-records.js";
import { runRecord } from "../../../src/store/memory/run/list-runs.js";
import { scheduleRecord } from "../../../src/store/memory/schedule/schedules.js";
import { toMs } from "../../../src/store/memory/table/micros.js";
import { compareText, joinKey } from "../../../src/store/memory/table/names.js";
import { tablesOf } from "../../../src/store/memory/table/open-stores.js";
import { copyPayload } from "../../../src/store/memory/table/payload.js";
import type {
  DebounceRow,
  DefinitionVersionRow,
  KeptModeRow,
  KeptRow,
  KeyRow,
  LeaseRow,
  LimitRow,
  MessageRow,
  NodeRow,
  PausedQueueRow,
  ProbeRow,
  RunRow,
  TakenClaimRow,
  TimeoutRow,
} from "../../../src/store/memory/table/rows.js";
import type { Tables } from "../../../src/store/memory/table/tables.js";
import { timeoutRecord } from "../../../src/store/memory/timeout/timeouts.js";

export interface Snapshot {
  /** By id. */
  readonly runs: readonly (RunRecord & Pick<RunRow, "token" | "wakeAfter" | "counts" | "pausing" | "recovery">)[];
  /** By run and sequence. */
  readonly journal: readonly (JournalEntry & { readonly runId: string; readonly token: string | null })[];
  /** By run and epoch. */
  readonly misfits: readonly { readonly runId: string; readonly wanted: string | null; readonly lookAt: number }[];
  readonly takenClaims: readonly (Omit<TakenClaimRow, "atUs"> & { readonly runId: string; readonly at: number })[];
  /** By run and order of acceptance. */
  readonly inbox: readonly (Message & { readonly takenSeq: number | null })[];
  /** By env, scope and key. */
  readonly keys: readonly (Omit<KeyRow, "untilUs"> & { readonly until: number | null })[];
  /** By env and key; the stored state, which is never `expired`. */
  readonly leases: readonly SnapshotLease[];
  /** By incarnation. */
  readonly nodes: readonly Omit<NodeRecord, "holds" | "alive" | "serves" | "claims" | "overruled" | "executors">[];
  /** By env, space and key. */
  readonly kept: readonly (Omit<KeptRow, "atUs" | "untilUs"> & {
    readonly at: number;
    readonly until: number | null;
  })[];
  /** By env and identity. */
  readonly keptModes: readonly (Omit<KeptModeRow, "atUs"> & { readonly at: number })[];
  /** By run. */
  readonly deferred: readonly { readonly runId: string; readonly pending: boolean }[];
  /** By run and stage. */
  readonly limits: readonly (Omit<LimitRow, "availableAtUs"> & { readonly availableAt: number })[];
  /** By the needed task and those that need it. */
  readonly needs: readonly { readonly needId: string; readonly runId: string }[];
  /** By key. */
  readonly rates: readonly { readonly key: string; readonly nextAt: number }[];
  /** By env and queue. */
  readonly pausedQueues: readonly (Omit<PausedQueueRow, "atUs"> & { readonly at: number })[];
  /** By env, program, key and stack. */
  readonly schedules: readonly ScheduleRecord[];
  /** By env and id, with the nodes that declare it. */
  readonly subscriptions: readonly (Subscription & { readonly by: readonly string[] })[];
  /** By env, subscription and subject. */
  readonly debounces: readonly (Omit<DebounceRow, "lastAtUs"> & { readonly lastAt: number })[];
  /** By env, kind and name. */
  readonly definitions: readonly DefinitionRecord[];
  /** By env, kind, name and version. */
  readonly definitionVersions: readonly DefinitionVersionRow[];
  /** By env, program, opening and number. */
  readonly probes: readonly (Omit<ProbeRow, "atUs"> & { readonly at: number })[];
  /** By key. */
  readonly instances: readonly (LoadedInstance & { readonly inputHash: string })[];
  /** By instance and sequence. */
  readonly instanceEvents: readonly (InstanceEvent & { readonly instance: string; readonly token: string })[];
  /** By id. */
  readonly timers: readonly (TimerRecord & { readonly claimedUntil: number | null })[];
  /** By env, scope and instance. */
  readonly timeouts: readonly SnapshotTimeout[];
}

export interface SnapshotTimeout extends TimeoutRecord {
  readonly dueAt: number | null;
  readonly token: string | null;
  readonly releasedToken: string | null;
}

export interface SnapshotLease extends Omit<LeaseRecord, "token"> {
  readonly token: string | null;
  readonly finishedToken: string | null;
}

export function snapshotMemory(store: Store): Snapshot {
  const tables = tablesOf(store);
  const { runs, inbox, keys, leases, nodes } = tables;
  const byId = [...runs.values()].sort((a, b) => compareText(a.id, b.id));
  const byRun = [...inbox.entries()].sort(([a], [b]) => compareText(a, b));
  return {
    runs: byId.map((row) => {
      const { token, wakeAfter, counts, pausing, recovery } = row;
      return { ...runRecord(tables, row), token, wakeAfter, counts, pausing, recovery };
    }),
    journal: byId.flatMap(({ id }) => logOf(tables, id)),
    misfits: sortedBy([...tables.misfits.values()], (row) => [row.runId]).map(({ lookAtUs, ...row }) => ({
      ...row,
      lookAt: toMs(lookAtUs),
    })),
    takenClaims: byId.flatMap(({ id: runId }) =>
      (tables.takenClaims.get(runId) ?? []).map(({ atUs, ...row }) => ({ runId, ...row, at: toMs(atUs) })),
    ),
    inbox: byRun.flatMap(([, rows]) => [...rows].sort((a, b) => a.id - b.id).map(messageOf)),
    keys: sortedBy([...keys.values()], (row) => [row.env, row.scope, row.key]).map(keyOf),
    leases: sortedBy([...leases.values()], (row) => [row.env, row.key]).map(leaseOf),
    nodes: sortedBy([...nodes.values()], (row) => [row.incarnation]).map(nodeOf),
    limits: byId.flatMap(({ id }) => tables.limits.get(id) ?? []).map(limitOf),
    needs: [...tables.needs].sort(([a], [b]) => compareText(a, b)).flatMap(needsOf),
    rates: sortedBy([...tables.rates], ([key]) => [key]).map(([key, nextUs]) => ({ key, nextAt: toMs(nextUs) })),
    pausedQueues: sortedBy([...tables.pausedQueues.values()], (row) => [row.env, row.queue]).map(
      ({ env, queue, atUs, by }) => ({ env, queue, at: toMs(atUs), by }),
    ),
    schedules: sortedBy([...tables.schedules.values()], ({ group, key }) => [
      ...[group.env, group.program, key, group.stack ?? ""],
    ]).map(scheduleRecord),
    kept: sortedBy([...tables.kept.values()], (row) => [row.env, row.space, row.key]).map(
      ({ atUs, untilUs, ...row }) => ({ ...row, at: toMs(atUs), until: toMs(untilUs) }),
    ),
    keptModes: sortedBy([...tables.keptModes.values()], (row) => [row.env, row.identity]).map(({ atUs, ...row }) => ({
      ...row,
      at: toMs(atUs),
    })),
    deferred: sortedBy([...tables.deferred.values()], (row) => [row.runId]).map(({ runId, pending }) => ({
      runId,
      pending,
    })),
    definitions: sortedBy([...tables.definitions.values()], (row) => [row.env, row.kind, row.name]).map(
      ({ atUs, ...row }) => ({ ...row, at: toMs(atUs) }),
    ),
    definitionVersions: sortedBy([...tables.definitionVersions.values()], (row) => [
      ...[row.env, row.kind, row.name, String(row.version).padStart(9, "0")],
    ]),
    ...eventsOf(tables),
    timeouts: sortedBy([...tables.timeouts.values()], (row) => [row.env, row.scope, row.instance]).map(timeoutOf),
    ...machinesOf(tables),
  };
}

function eventsOf({ subscriptions, subscribers, debounces, probes }: Tables) {
  return {
    subscriptions: sortedBy([...subscriptions.values()], (row) => [row.env, row.id]).map((row) => ({
      ...row,
      by: [...(subscribers.get(joinKey(row.env, row.id)) ?? [])].sort(compareText),
    })),
    debounces: sortedBy([...debounces.values()], (row) => [row.env, row.subscription, row.subject]).map(
      ({ lastAtUs, ...row }) => ({ ...row, lastAt: toMs(lastAtUs) }),
    ),
    probes: sortedBy([...probes.values()], (row) => [row.env, row.program, row.opening, String(row.n)]).map(
      ({ atUs, ...row }) => ({ ...row, at: toMs(atUs) }),
    ),
  };
}

function machinesOf({ instances, instanceEvents, timers }: Tables) {
  const byKey = sortedBy([...instances.values()], ({ key }) => [key]);
  return {
    instances: byKey.map((row) => ({ ...loadedInstance(row), inputHash: row.inputHash })),
    instanceEvents: byKey.flatMap(({ key }) =>
      (instanceEvents.get(key) ?? []).map(({ atUs, payload, ...row }) => {
        return { instance: key, ...row, payload: copyPayload(payload), at: toMs(atUs) };
      }),
    ),
    timers: sortedBy([...timers.values()], ({ id }) => [id]).map((row) => {
      return { ...timerRecord(row), tryAt: toMs(row.tryAtUs), claimedUntil: toMs(row.claimedUntilUs) };
    }),
  };
}

function sortedBy<Row>(rows: Row[], names: (row: Row) => readonly string[]): Row[] {
  return rows.sort((a, b) => {
    const others = names(b);
    return names(a).reduce((order, name, i) => order || compareText(name, others[i]!), 0);
  });
}

function logOf(tables: Tables, runId: string): Snapshot["journal"] {
  const rows = [...(tables.journal.get(runId)?.values() ?? [])].sort((a, b) => a.seq - b.seq);
  return rows.map(({ seq, epoch, token, kind, name, key, payload, atUs }) => {
    return { runId, seq, epoch, token, kind, name, key, payload: copyPayload(payload), at: toMs(atUs) };
  });
}

function messageOf(row: MessageRow): Snapshot["inbox"][number] {
  const { runId, key, messageId, kind, name, sender, takenSeq } = row;
  const payload: Payload | null = copyPayload(row.payload);
  return { runId, key, messageId, kind, name, payload, sender, at: toMs(row.atUs), takenSeq };
}

function keyOf({ env, scope, key, runId, payloadHash, lifetime, untilUs }: KeyRow): Snapshot["keys"][number] {
  return { env, scope, key, runId, payloadHash, lifetime, until: toMs(untilUs) };
}

function needsOf([needId, by]: readonly [string, readonly string[]]): Snapshot["needs"] {
  return [...by].sort(compareText).map((runId) => ({ needId, runId }));
}

function limitOf({ availableAtUs, ...row }: LimitRow): Snapshot["limits"][number] {
  return { ...row, availableAt: toMs(availableAtUs) };
}

function leaseOf(row: LeaseRow): SnapshotLease {
  const { env, key, state, owner, epoch, token, finishedToken, attempt, detail } = row;
  const times = {
    leaseUntil: toMs(row.leaseUntilUs),
    acquiredAt: toMs(row.acquiredAtUs),
    finishedAt: toMs(row.finishedAtUs),
  };
  return { env, key, state, owner, epoch, token, finishedToken, attempt, detail, ...times };
}

function timeoutOf(row: TimeoutRow): SnapshotTimeout {
  const { dueAtUs, token, releasedToken } = row;
  return { ...timeoutRecord(row), dueAt: toMs(dueAtUs), token, releasedToken };
}

function nodeOf(row: NodeRow): Snapshot["nodes"][number] {
  const { incarnation, identity, name, env, stack, build, alone, heartbeatMs, leaseMs, presenceGraceMs } = row;
  const who = { incarnation, identity, name, env, stack, build, alone, heartbeatMs, leaseMs, presenceGraceMs };
  const times = { startedAt: toMs(row.startedAtUs), seenAt: toMs(row.seenAtUs), stoppedAt: toMs(row.stoppedAtUs) };
  return { ...who, ...row.modes, ...times, vitals: row.vitals };
}

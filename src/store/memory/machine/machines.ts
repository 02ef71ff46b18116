// Stores instances of state machines, their events and timers.

import type { Append, AppendAnswer, MachineStore } from "../../contract/machine/machines.js";
import type { Wakes } from "../node/wakes.js";
import { toMs, toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import { copyPayload } from "../table/payload.js";
import type { InstanceRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { tablesSeenBy } from "../table/transaction.js";
import { createOne, type Positions, passOver, tellOne, writeChange } from "./create-instance.js";
import { instanceRecord, loadedInstance, timerRecord, timersOf } from "./instance-records.js";
import { claimTimers, settleTimers } from "./timers.js";

export function memoryMachines(tables: Tables, wakes: Wakes): MachineStore {
  return {
    async create(instances, { tx } = {}) {
      const seen = tablesSeenBy(tables, tx);
      const nowUs = tables.nowUs();
      const positions = { timer: 0, told: 0, run: 0, met: new Set<string>(), created: new Set<string>() };
      const answers = instances.map((one) => createOne(seen, one, nowUs, positions));
      if (!tx) wakes.groups(instances.flatMap((one, i) => (answers[i]!.outcome === "created" ? wokenBy(one) : [])));
      return answers;
    },
    async append(appends) {
      const nowUs = tables.nowUs();
      const positions = { timer: 0, told: 0, run: 0 };
      const answers = appends.map((one) => appendOne(tables, one, nowUs, positions));
      wakes.groups(appends.flatMap((one, i) => (answers[i]!.outcome === "accepted" ? wokenBy(one) : [])));
      return answers;
    },
    async tell(told, { tx } = {}) {
      const seen = tablesSeenBy(tables, tx);
      const nowUs = tables.nowUs();
      const answers = told.map((one, position) => tellOne(seen, one, nowUs, position));
      if (!tx) wakes.groups(told.flatMap(({ group }, i) => (answers[i]!.outcome === "accepted" ? group : [])));
      return answers;
    },
    async load(keys, { tx } = {}) {
      const seen = tablesSeenBy(tables, tx);
      return keys.map((key) => {
        const row = seen.instances.get(key);
        return row ? loadedInstance(row) : null;
      });
    },
    async events(key, { after, limit }) {
      const log = tables.instanceEvents.get(key) ?? [];
      return log
        .filter(({ seq }) => seq > after)
        .slice(0, limit)
        .map(({ token: _, atUs, payload, ...row }) => ({ ...row, payload: copyPayload(payload), at: toMs(atUs) }));
    },
    timers: async (key) => timersOf(tables, key).map(timerRecord),
    claimTimers: async (claim) => claimTimers(tables, claim),
    settleTimers: async (settlements) => settleTimers(tables, settlements),
    async note(key, seq, problem) {
      const row = tables.instances.get(key);
      if (!row || row.seq !== seq || row.problem === problem) return false;
      tables.instances.set(key, { ...row, problem });
      return true;
    },
    async retryTimers(key) {
      const dead = timersOf(tables, key).filter(({ state }) => state === "dead");
      const nowUs = tables.nowUs();
      for (const row of dead) {
        const tryAtUs = Math.max(row.dueAtUs, nowUs);
        tables.timers.set(row.id, { ...row, state: "pending", attempts: 0, tryAtUs, claimedUntilUs: null });
      }
      return dead.length;
    },
    list: async (filter, page) => listInstances(tables, filter, page),
    prune: async (age) => pruneInstances(tables, age),
  };
}

const SOON_MS = 5_000;

function wokenBy({ group, timers, told, effects }: Parameters<typeof createOne>[1] | Parameters<typeof appendOne>[1]) {
  const soon = timers.some(({ delayMs }) => delayMs <= SOON_MS) ? [group] : [];
  return [...soon, ...told.map((one) => one.group), ...effects.map((run) => run.group)];
}

function listInstances(
  tables: Tables,
  { env, stack, machine, id, statuses }: Parameters<MachineStore["list"]>[0],
  { limit, before }: Parameters<MachineStore["list"]>[1],
): Awaited<ReturnType<MachineStore["list"]>> {
  const last = before === undefined ? undefined : tables.instances.get(before);
  if (before !== undefined && !last) return { instances: [], next: null };
  const rows = [...tables.instances.values()]
    .filter(({ group, ...row }) => {
      const place = group.env === env && (stack === undefined || group.stack === stack);
      const who = (machine === undefined || group.program === machine) && (id === undefined || row.id === id);
      return place && who && (statuses?.includes(row.status) ?? true);
    })
    .filter((row) => !last || newestFirst(last, row) < 0)
    .sort(newestFirst);
  const instances = rows.slice(0, limit).map(instanceRecord);
  return { instances, next: rows.length > limit ? instances.at(-1)!.key : null };
}

function newestFirst(a: InstanceRow, b: InstanceRow): number {
  return b.createdAtUs - a.createdAtUs || compareText(b.key, a.key);
}

export function pruneInstances(
  tables: Tables,
  { env, endedBeforeMs, limit }: Parameters<MachineStore["prune"]>[0],
): number {
  if (limit < 1) return 0;
  const untilUs = tables.nowUs() - toUs(endedBeforeMs);
  const old = [...tables.instances.values()]
    .filter(({ group, endedAtUs }) => group.env === env && endedAtUs !== null && endedAtUs <= untilUs)
    .sort((a, b) => a.endedAtUs! - b.endedAtUs! || compareText(a.key, b.key))
    .slice(0, limit);
  for (const { key } of old) {
    tables.instances.delete(key);
    tables.instanceEvents.delete(key);
    for (const { id } of timersOf(tables, key)) tables.timers.delete(id);
  }
  return old.length;
}

/** Only to an instance that is still at the sequence its caller has read. */
function appendOne(tables: Tables, one: Append, nowUs: number, positions: Positions): AppendAnswer {
  const { key, expectedSeq, events, status, version, value, snapshot, fired, cancelled } = one;
  const row = tables.instances.get(key);
  const refused = whyNot(tables, one);
  if (!row || refused) {
    passOver(one, positions);
    return refused ?? { outcome: "unknown" };
  }
  const seq = expectedSeq + events.length;
  const ended = status !== "active";
  tables.instances.set(key, {
    ...row,
    seq,
    status,
    version,
    value,
    problem: null,
    updatedAtUs: nowUs,
    endedAtUs: ended ? nowUs : null,
    ...(snapshot && { snapshot: copyPayload(snapshot), snapshotSeq: seq }),
  });
  for (const id of [...cancelled, ...fired.map((timer) => timer.id)]) tables.timers.delete(id);
  if (ended) {
    for (const timer of [...tables.timers.values()]) {
      if (timer.instanceKey === key && timer.kind !== "sent") tables.timers.delete(timer.id);
    }
  }
  writeChange(tables, { key, groupId: tables.groups.idOf(one.group), base: expectedSeq }, one, { nowUs, positions });
  return { outcome: "accepted", seq };
}

function whyNot(tables: Tables, { key, token, expectedSeq, events, fired }: Append): AppendAnswer | null {
  const row = tables.instances.get(key);
  if (!row) return { outcome: "unknown" };
  const log = tables.instanceEvents.get(key) ?? [];
  if (log.find(({ seq }) => seq === expectedSeq + 1)?.token === token) {
    return { outcome: "recorded", seq: expectedSeq + events.length };
  }
  if (row.status !== "active") return { outcome: "ended", status: row.status, seq: row.seq };
  if (row.seq !== expectedSeq) return { outcome: "moved", seq: row.seq };
  const keys = events.flatMap((event) =>
    event.key !== null && log.some((old) => old.key === event.key) ? event.key : [],
  );
  if (keys.length > 0) return { outcome: "taken", keys };
  const gone = fired.some(({ id, generation }) => tables.timers.get(id)?.generation !== generation);
  return gone ? { outcome: "moved", seq: row.seq } : null;
}

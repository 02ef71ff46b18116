// Creates an instance, and writes what a step produces: events, timers, events to other instances, effects.

import type { Change, CreateAnswer, NewInstance, NewTold, TellAnswer } from "../../contract/machine/machines.js";
import { addRun, type InsertPlace } from "../run/add-run.js";
import { copyGroup } from "../run/group-table.js";
import { toUs } from "../table/micros.js";
import { copyPayload } from "../table/payload.js";
import type { TimerRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/** How many of each precede it in this call: they keep the call's order, one microsecond apart. */
export interface Positions {
  timer: number;
  told: number;
  run: number;
  /** Created in this call: a statement does not see what it inserts. */
  readonly created?: ReadonlySet<string>;
}

/** `met`: the ids handled before in this call; of items with the same id, the first counts. */
export function createOne(
  tables: Tables,
  one: NewInstance,
  nowUs: number,
  positions: Omit<Positions, "created"> & { readonly met: Set<string>; readonly created: Set<string> },
): CreateAnswer {
  const { key, id, group, inputHash, redact, version, status, value, snapshot, events, token } = one;
  const known = tables.instances.get(key);
  const first = !positions.met.has(key);
  positions.met.add(key);
  if (known) {
    if (first) passOver(one, positions);
    if (tables.instanceEvents.get(key)?.[0]?.token === token) return { outcome: "created" };
    return { outcome: known.inputHash === inputHash ? "existing" : "conflict" };
  }
  tables.instances.set(key, {
    key,
    id,
    inputHash,
    version,
    status,
    value,
    groupId: tables.groups.idOf(group),
    group: copyGroup(group),
    redact: [...redact],
    seq: events.length,
    snapshot: copyPayload(snapshot),
    snapshotSeq: events.length,
    problem: null,
    createdAtUs: nowUs,
    updatedAtUs: nowUs,
    endedAtUs: status === "active" ? null : nowUs,
  });
  tables.instanceEvents.set(key, []);
  positions.created.add(key);
  writeChange(tables, { key, groupId: tables.groups.idOf(group), base: 0 }, one, { nowUs, positions });
  return { outcome: "created" };
}

/** PostgreSQL also counts the parts that it does not write. */
export function passOver({ timers, told, effects }: Change, positions: Positions): void {
  positions.timer += timers.length;
  positions.told += told.length;
  positions.run += effects.length;
}

interface Of {
  readonly key: string;
  readonly groupId: number;
  readonly base: number;
}

export function writeChange(
  tables: Tables,
  { key, groupId, base }: Of,
  change: Change,
  { nowUs, positions }: { readonly nowUs: number; readonly positions: Positions },
): void {
  const log = tables.instanceEvents.get(key)!;
  change.events.forEach(({ kind, name, key: eventKey, payload, by }, i) => {
    const row = { kind, name, key: eventKey, payload: copyPayload(payload), by };
    log.push({ ...row, seq: base + i + 1, token: change.token, atUs: nowUs });
  });
  for (const { id, generation, kind, name, payload, delayMs } of change.timers) {
    const atUs = nowUs + toUs(delayMs + positions.timer++ * 0.001);
    if (base === 0 && tables.timers.has(id)) continue;
    tables.timers.set(id, { id, generation, kind, name, groupId, instanceKey: key, ...pending(payload, atUs) });
  }
  for (const told of change.told) {
    const position = positions.told++;
    if (base > 0 || !tables.timers.has(told.id)) addTold(tables, told, { nowUs, position }, positions.created);
  }
  for (const run of change.effects) addRun(tables, run, { nowUs, position: positions.run++ });
}

function pending(payload: TimerRow["payload"], atUs: number) {
  const rest = { claimedUntilUs: null, claimedBy: null, attempts: 0, state: "pending" as const, problem: null };
  return { payload: copyPayload(payload), dueAtUs: atUs, tryAtUs: atUs, ...rest };
}

function addTold(
  tables: Tables,
  told: NewTold,
  { nowUs, position }: InsertPlace,
  unseen: ReadonlySet<string> = new Set(),
): void {
  const { id, instanceKey, group, generation, name, payload, delayMs } = told;
  // The group that serves the instance, not the sender's.
  const instance = unseen.has(instanceKey) ? undefined : tables.instances.get(instanceKey);
  const groupId = instance?.groupId ?? tables.groups.idOf(group);
  const row = { id, instanceKey, groupId, generation, kind: "sent" as const, name };
  tables.timers.set(id, { ...row, ...pending(payload, nowUs + toUs(delayMs + position * 0.001)) });
}

export function tellOne(tables: Tables, told: NewTold, nowUs: number, position: number): TellAnswer {
  const instance = tables.instances.get(told.instanceKey);
  if (!instance) return { outcome: "unknown" };
  const taken = tables.instanceEvents.get(told.instanceKey)?.some(({ key }) => key === told.id);
  if (taken) return { outcome: "accepted" };
  if (instance.status !== "active") return { outcome: "ended", status: instance.status };
  if (!tables.timers.has(told.id)) addTold(tables, told, { nowUs, position });
  return { outcome: "accepted" };
}

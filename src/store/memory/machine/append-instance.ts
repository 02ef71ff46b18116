// Appends to an instance that is still at the sequence its caller has read.

import type { Append, AppendAnswer } from "../../contract/machine/machines.js";
import { copyPayload } from "../table/payload.js";
import type { Tables } from "../table/tables.js";
import { type Positions, passOver, writeChange } from "./create-instance.js";

export function appendOne(tables: Tables, one: Append, nowUs: number, positions: Positions): AppendAnswer {
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

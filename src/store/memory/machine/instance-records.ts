// Converts rows of instances and timers to records.

import { omit } from "../../../kernel/omit.js";
import type { InstanceRecord, LoadedInstance, TimerRecord } from "../../contract/machine/machines.js";
import { copyGroup } from "../run/group-table.js";
import { compareText } from "../table/compare-text.js";
import { toMs } from "../table/micros.js";
import { copyPayload } from "../table/payload.js";
import type { InstanceRow, TimerRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/** By deadline. */
export function timersOf(tables: Tables, key: string): TimerRow[] {
  return [...tables.timers.values()].filter(({ instanceKey }) => instanceKey === key).sort(byDeadline);
}

export function byDeadline(a: TimerRow, b: TimerRow): number {
  return a.dueAtUs - b.dueAtUs || compareText(a.id, b.id);
}

export function timerRecord(timer: TimerRow): TimerRecord {
  const { dueAtUs, payload, ...row } = omit(timer, "groupId", "tryAtUs", "claimedUntilUs");
  return { ...row, payload: copyPayload(payload), dueAt: toMs(dueAtUs), tryAt: toMs(lookAtUs(timer)) };
}

/** Not before its next attempt, and not while it is claimed. */
export function lookAtUs({ tryAtUs, claimedUntilUs }: TimerRow): number {
  return Math.max(tryAtUs, claimedUntilUs ?? tryAtUs);
}

export function instanceRecord(row: InstanceRow): InstanceRecord {
  const { key, id, version, status, seq, value, problem } = row;
  return {
    key,
    id,
    version,
    status,
    seq,
    value,
    problem,
    group: copyGroup(row.group),
    redact: [...row.redact],
    createdAt: toMs(row.createdAtUs),
    updatedAt: toMs(row.updatedAtUs),
    endedAt: toMs(row.endedAtUs),
  };
}

export function loadedInstance(row: InstanceRow): LoadedInstance {
  return { ...instanceRecord(row), snapshot: copyPayload(row.snapshot), snapshotSeq: row.snapshotSeq };
}

// Converts rows of instances and timers to records.

import { omit } from "../../../kernel/omit.js";
import type { InstanceRecord, LoadedInstance, TimerRecord } from "../../contract/machine/machines.js";
import { copyGroup } from "../run/group-table.js";
import { shown, toMs } from "../table/micros.js";
import { compareText } from "../table/names.js";
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
  const record = omit(shown(timer), "groupId", "claimedUntil", "claimedBy");
  return { ...record, payload: copyPayload(timer.payload), tryAt: toMs(lookAtUs(timer)) };
}

/** Not before its next attempt, and not while it is claimed. */
export function lookAtUs({ tryAtUs, claimedUntilUs }: TimerRow): number {
  return Math.max(tryAtUs, claimedUntilUs ?? tryAtUs);
}

export function instanceRecord(row: InstanceRow): InstanceRecord {
  return omit(loadedInstance(row), "snapshot", "snapshotSeq");
}

export function loadedInstance(row: InstanceRow): LoadedInstance {
  const { group, redact, snapshot } = row;
  const copies = { group: copyGroup(group), redact: [...redact], snapshot: copyPayload(snapshot) };
  return { ...omit(shown(row), "groupId", "inputHash"), ...copies };
}

// Puts a message into a run's inbox, and wakes the run.

import type { NewMessage } from "../../contract/inbox/inbox.js";
import { moveRun } from "../run/move-run.js";
import { copyPayload } from "../table/payload.js";
import type { MessageRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export function findMessage(tables: Tables, runId: string, key: string): MessageRow | undefined {
  return tables.inbox.get(runId)?.find((message) => message.key === key);
}

/** In order of acceptance. */
export function unreadMessages(tables: Tables, runId: string): MessageRow[] {
  const unread = (tables.inbox.get(runId) ?? []).filter((message) => message.takenSeq === null);
  return unread.sort((a, b) => a.id - b.id);
}

export function storeMessage(tables: Tables, message: NewMessage, atUs: number): void {
  const { runId, key, messageId, kind, name } = message;
  const sender = message.sender ?? null;
  const id = tables.nextMessageId();
  const payload = copyPayload(message.payload ?? null);
  const row: MessageRow = { id, runId, key, messageId, kind, name, payload, sender, atUs, takenSeq: null };
  tables.inbox.set(runId, [...(tables.inbox.get(runId) ?? []), row]);
}

/** The sequence number alone keeps a running run from parking over the message; a parked run wakes here. */
export function wakeRun(tables: Tables, row: RunRow, nowUs: number): void {
  row.inboxSeq++;
  if (row.limited) tables.woken.add(row.id);
  if (row.state !== "parked" || !isCalled(tables, row)) return;
  row.availableAtUs = nowUs;
  moveRun(tables, row, "waiting");
}

/**
 * Messages from children wake a run once there are `wakeAfter` of them (a parent of a thousand wakes once), others at
 * once.
 */
export function isCalled(tables: Tables, row: RunRow): boolean {
  const unread = unreadMessages(tables, row.id);
  if (unread.length === 0) return false;
  return unread.length >= row.wakeAfter || unread.some((message) => message.kind !== "child");
}

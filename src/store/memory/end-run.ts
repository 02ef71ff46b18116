// Ends a run: its unread messages are closed with it, and a parent that still lives is told.

import { type EndedState, isEnded } from "../../kernel/run-state.js";
import { findMessage, ringRun, storeMessage, unreadMessages } from "./deliver-message.js";
import { moveRun } from "./move-run.js";
import type { RunRow } from "./rows.js";
import type { Tables } from "./tables.js";

/** In `takenSeq`: the run ended without reading it. */
export const CLOSED = 0;

export function endRun(tables: Tables, row: RunRow, state: EndedState, nowUs: number): void {
  moveRun(tables, row, state);
  row.endedAtUs = nowUs;
  for (const message of unreadMessages(tables, row.id)) message.takenSeq = CLOSED;
}

/** Called once per operation, after all of its runs are settled: the order within a batch then plays no part. */
export function tellParents(tables: Tables, ended: readonly RunRow[], nowUs: number): void {
  for (const { id, parentId, state } of ended) {
    const parent = parentId === null ? undefined : tables.runs.get(parentId);
    if (!parent || isEnded(parent.state)) continue;
    const key = `child:${id}`;
    if (findMessage(tables, parent.id, key)) continue;
    const news = {
      runId: parent.id,
      key,
      messageId: id,
      kind: "child",
      name: state,
      payload: null,
      sender: id,
    } as const;
    storeMessage(tables, news, nowUs);
    ringRun(tables, parent, nowUs);
  }
}

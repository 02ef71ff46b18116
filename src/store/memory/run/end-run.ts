// Ends a run: closes its unread messages, counts down the runs that wait for it, and notifies its parent.

import { type EndedState, isEnded } from "../../../kernel/run/run-state.js";
import { findMessage, storeMessage, unreadMessages, wakeRun } from "../inbox/deliver-message.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { countDown } from "../task/count-down.js";
import { moveRun } from "./move-run.js";

/** In `takenSeq`: the run ended without reading it. */
export const CLOSED = 0;

/** A run that has ended; `counted`: as a task. */
export interface Ended {
  readonly row: RunRow;
  readonly counted: boolean;
}

export function endRun(tables: Tables, row: RunRow, state: EndedState, nowUs: number): Ended {
  const counted = row.counts;
  moveRun(tables, row, state);
  row.counts = false;
  row.endedAtUs = nowUs;
  for (const message of unreadMessages(tables, row.id)) message.takenSeq = CLOSED;
  return { row, counted };
}

/** For a counted task, only these ends are reported. */
const TROUBLE: readonly string[] = ["failed", "dead"];

/** Called once per operation, after all of its runs are settled: the order within a batch then does not matter. */
export function settleEnds(tables: Tables, ended: readonly Ended[], nowUs: number, over?: readonly RunRow[]): void {
  const counted = ended.filter((one) => one.counted).map(({ row }) => row);
  countDown(tables, counted, nowUs, over);
  for (const { row, counted } of ended) {
    const { id, parentId, state, generation } = row;
    const parent = parentId === null ? undefined : tables.runs.get(parentId);
    if (!parent || isEnded(parent.state) || (counted && !TROUBLE.includes(state))) continue;
    const key = generation === 0 ? `child:${id}` : `child:${id}:${generation}`;
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
    wakeRun(tables, parent, nowUs);
  }
}

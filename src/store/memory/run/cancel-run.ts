// Cancels a run: at once, unless a node holds it; then its holder finds the request in the inbox. A run with tasks ends
// after them.

import { isEnded } from "../../../kernel/run/run-state.js";
import type { CancelAnswer } from "../../contract/run/runs.js";
import { findMessage, storeMessage, wakeRun } from "../inbox/deliver-message.js";
import { appendEntry } from "../journal/append-entry.js";
import { jsonPayload } from "../table/payload.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { hasTasks, taskTree } from "../task/task-tree.js";
import { type Ended, endRun, settleEnds } from "./end-run.js";
import { resumeRun } from "./pause-run.js";

export interface Canceller {
  readonly by: string;
  readonly reason?: string;
}

/** `admit` is called between the ends of its tasks and its own: runs that waited for a slot of the tasks get it first. */
export function cancelRun(tables: Tables, runId: string, who: Canceller, admit: () => void): CancelAnswer {
  const row = tables.runs.get(runId);
  if (!row) return { outcome: "unknown" };
  // Cancelling again is the same call repeated: it finds its effect.
  if (row.state === "cancelled") return { outcome: "cancelled" };
  if (isEnded(row.state)) return { outcome: "ended", state: row.state };
  if (cancelOne(tables, row, who)) return { outcome: "cancelled" };
  if (cleansUp(tables, row) && (row.pausing || row.state === "paused")) resumeRun(tables, runId, who.by);
  if (row.pending === 0) return { outcome: "requested" };
  const running = cancelTasks(tables, runId, who);
  admit();
  return running === 0 && row.state !== "running" && cancelOne(tables, row, who)
    ? { outcome: "cancelled" }
    : { outcome: "requested" };
}

/** Returns how many are still running and were asked to stop. */
export function cancelTasks(tables: Tables, runId: string, who: Canceller): number {
  const root = tables.runs.get(runId);
  if (!root) return 0;
  const nowUs = tables.nowUs();
  const tasks = taskTree(tables, root).filter(({ id }) => id !== runId);
  const open = tasks.filter(({ state }) => !isEnded(state));
  const running = open.filter(({ state }) => state === "running");
  const ended = open.filter(({ state }) => state !== "running").map((row) => end(tables, row, who, nowUs));
  const over = ended.map(({ row }) => row);
  settleEnds(tables, ended, nowUs, over);
  for (const { row } of ended) if (row.limited) tables.left.add(row.id);
  for (const row of running) request(tables, row, who, nowUs);
  return running.length;
}

/** False when it is running or waits for its tasks: it was asked to stop. */
function cancelOne(tables: Tables, row: RunRow, who: Canceller): boolean {
  const nowUs = tables.nowUs();
  const waits = row.pending > 0 && row.state !== "blocked" && hasTasks(tables, row);
  if (row.state === "running" || waits || cleansUp(tables, row)) {
    request(tables, row, who, nowUs);
    return false;
  }
  settleEnds(tables, [end(tables, row, who, nowUs)], nowUs);
  return true;
}

/** It has begun, and its code cleans up: a node claims it and runs that code. */
function cleansUp(tables: Tables, { epoch, state, groupId }: RunRow): boolean {
  return epoch > 0 && state !== "quarantined" && tables.groups.cleansUp(groupId);
}

function end(tables: Tables, row: RunRow, who: Canceller, nowUs: number): Ended {
  const ended = endRun(tables, row, "cancelled", nowUs);
  appendEntry(tables, row, { kind: "cancelled", name: "", key: null, payload: reasonOf(who) }, nowUs);
  return ended;
}

function request(tables: Tables, row: RunRow, who: Canceller, nowUs: number): void {
  if (findMessage(tables, row.id, "cancel")) return;
  const message = { runId: row.id, key: "cancel", messageId: row.id, kind: "cancel", name: "cancel" } as const;
  storeMessage(tables, { ...message, payload: reasonOf(who), sender: who.by }, nowUs);
  wakeRun(tables, row, nowUs);
}

function reasonOf({ by, reason = null }: { readonly by: string; readonly reason?: string | null }) {
  return jsonPayload({ by, reason });
}

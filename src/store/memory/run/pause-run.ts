// Pauses a run with its tasks, and lets them go on. One that somebody holds is marked, and its holder told to give it back.

import { isEnded } from "../../../kernel/run/run-state.js";
import type { PauseAnswer, ResumeAnswer } from "../../contract/run/runs.js";
import { storeMessage } from "../inbox/deliver-message.js";
import { appendEntry } from "../journal/append-entry.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { hasTasks, taskTree } from "../task/task-tree.js";
import { moveRun } from "./move-run.js";

/** Answers with the runs that left a line. */
export function pauseRun(
  tables: Tables,
  runId: string,
  by: string,
): { readonly answer: PauseAnswer; readonly left: readonly RunRow[] } {
  const root = tables.runs.get(runId);
  if (!root) return { answer: { outcome: "unknown" }, left: [] };
  if (isEnded(root.state)) return { answer: { outcome: "ended", state: root.state }, left: [] };
  const nowUs = tables.nowUs();
  const rows = taskTree(tables, root).filter(({ state }) => !isEnded(state) && state !== "paused");
  const stopped = rows.filter(({ state }) => state !== "running");
  for (const row of stopped) {
    moveRun(tables, row, "paused");
    if (row === root) appendEntry(tables, row, { kind: "paused", name: by, key: null, payload: null }, nowUs);
  }
  const running = rows.filter(({ state }) => state === "running");
  for (const row of running) if (!row.pausing) ask(tables, row, by, nowUs);
  return {
    answer: { outcome: running.length > 0 ? "requested" : "paused" },
    left: stopped.filter(({ limited }) => limited),
  };
}

function ask(tables: Tables, row: RunRow, by: string, nowUs: number): void {
  row.pausing = true;
  row.inboxSeq++;
  const message = {
    runId: row.id,
    key: `pause:${row.inboxSeq}`,
    messageId: row.id,
    kind: "pause",
    name: "pause",
  } as const;
  storeMessage(tables, { ...message, payload: null, sender: by }, nowUs);
}

export function resumeRun(tables: Tables, runId: string, by: string): ResumeAnswer {
  const root = tables.runs.get(runId);
  if (!root) return { outcome: "unknown" };
  const nowUs = tables.nowUs();
  const before = root.state;
  const tree = taskTree(tables, root);
  const rows = tree.filter(({ state, pausing }) => state === "paused" || pausing);
  for (const row of rows) {
    row.pausing = false;
    row.availableAtUs = Math.max(row.availableAtUs, nowUs + tree.indexOf(row));
    if (row.state === "running") continue;
    moveRun(tables, row, row.pending > 0 && !hasTasks(tables, row) ? "blocked" : "waiting");
    tables.ready.add(row);
    if (row === root) appendEntry(tables, row, { kind: "resumed", name: by, key: null, payload: null }, nowUs);
  }
  return rows.length > 0 ? { outcome: "resumed" } : { outcome: "not paused", state: before };
}

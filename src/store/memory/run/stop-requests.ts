// The progress of a cancel or pause: which runs of a tree have it unread in their inbox.

import { isEnded } from "../../../kernel/run/run-state.js";
import type { StopProgress } from "../../contract/run/runs.js";
import { unreadMessages } from "../inbox/deliver-message.js";
import type { Tables } from "../table/tables.js";
import { taskTree } from "../task/task-tree.js";

/**
 * A cancel counts in any state of its run; a pause while it is wanted: after a resume its message may still be there.
 */
export function unansweredIn(tables: Tables, runId: string): readonly string[] {
  const root = tables.runs.get(runId);
  if (!root) return [];
  const asked = taskTree(tables, root).filter(({ id, state, pausing }) => {
    if (isEnded(state)) return false;
    return unreadMessages(tables, id).some(({ kind }) => kind === "cancel" || (kind === "pause" && pausing));
  });
  return asked.map(({ id }) => id);
}

export function stopProgress(tables: Tables, runId: string): StopProgress | null {
  const root = tables.runs.get(runId);
  if (!root) return null;
  const running = taskTree(tables, root).filter(({ state }) => state === "running").length;
  return { state: root.state, running, unanswered: unansweredIn(tables, runId).length };
}

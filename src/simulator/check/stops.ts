// Checks that a run does what the caller of a cancel or a pause was answered (S23): nothing more of it begins.

import type { History } from "./history.js";
import type { ModelRun } from "./model.js";
import { tasksOf } from "./tasks.js";

/** It, and the runs whose task it is. */
function familyOf(history: History, run: ModelRun): ModelRun[] {
  const parent = run.needs === null || run.parentId === null ? undefined : history.runs.get(run.parentId);
  return parent ? [run, ...familyOf(history, parent)] : [run];
}

/** A run is resumed or retried: nothing more is promised of it, of the runs whose task it is, and of all their tasks. */
export function opened(history: History, runId: string): void {
  const run = history.runs.get(runId);
  if (!run) return;
  const related = new Set(familyOf(history, run));
  for (const one of related) for (const task of tasksOf(history, one)) related.add(task);
  for (const { id } of related) history.promises.opened(id, history.now);
}

export function checkStopped(history: History, run: ModelRun, call: string): void {
  const stopped = familyOf(history, run).some(({ id }) => history.promises.has(id));
  history.expect(!stopped, "S23", run, `${call} began after the caller of a cancel or a pause was answered`);
}

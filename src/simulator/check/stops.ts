// Checks that a run does what the caller of a cancel or a pause was answered (S18): nothing more of it begins.

import type { History } from "./history.js";
import type { ModelRun } from "./model.js";
import { tasksOf } from "./tasks.js";

/** When callers were answered, and when runs were opened again, in virtual time. */
export class Stops {
  readonly #answeredAt = new Map<string, number>();
  readonly #openedAt = new Map<string, number>();
  /** How many promises there were to keep. */
  promises = 0;

  /** What a resume overtook, or a failover undid, was promised to nobody. */
  answered(history: History, runId: string, askedAt: number): void {
    const opened = this.#openedAt.get(runId) ?? -1;
    if (askedAt <= Math.max(opened, history.disturbedAt)) return;
    this.#answeredAt.set(runId, history.now);
    this.promises++;
  }

  /** A run is resumed or redriven: nothing more is promised of it, of the runs whose task it is, and of all their tasks. */
  opened(history: History, runId: string): void {
    const run = history.runs.get(runId);
    if (!run) return;
    const related = new Set(familyOf(history, run));
    for (const one of related) for (const task of tasksOf(history, one)) related.add(task);
    for (const { id } of related) {
      this.#openedAt.set(id, history.now);
      this.#answeredAt.delete(id);
    }
  }

  clear(): void {
    this.#answeredAt.clear();
  }

  isStopped(history: History, run: ModelRun): boolean {
    return familyOf(history, run).some(({ id }) => this.#answeredAt.has(id));
  }
}

/** It, and the runs whose task it is. */
function familyOf(history: History, run: ModelRun): ModelRun[] {
  const parent = run.needs === null || run.parentId === null ? undefined : history.runs.get(run.parentId);
  return parent ? [run, ...familyOf(history, parent)] : [run];
}

export function checkStopped(history: History, run: ModelRun, call: string): void {
  const stopped = history.stops.isStopped(history, run);
  history.expect(!stopped, "S18", run, `${call} began after the caller of a cancel or a pause was answered`);
}

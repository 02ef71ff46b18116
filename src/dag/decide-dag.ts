// Decides what happens to a DAG's run, given the states of its tasks. Pure.

import type { OwnTask } from "./supervise.js";

export interface DagFacts {
  readonly tasks: readonly OwnTask[];
  /** A cancellation was requested. */
  readonly cancelled: boolean;
  /** The run has timed out. */
  readonly overdue: boolean;
  readonly onFailure: "finish" | "cancel";
}

export type DagDecision =
  /** Nothing to do before a task ends. */
  | { readonly kind: "wait" }
  /** Cancel the remaining tasks; the run then waits until all have ended. */
  | { readonly kind: "cancelTasks"; readonly because: string }
  | { readonly kind: "completed" }
  | { readonly kind: "cancelled" }
  | { readonly kind: "timeout" }
  | { readonly kind: "failed"; readonly failed: readonly OwnTask[] };

/** A DAG's run ends after all its tasks: once it has ended, nothing of it runs any more. */
export function decideDag({ tasks, cancelled, overdue, onFailure }: DagFacts): DagDecision {
  const failed = tasks.filter(({ outcome }) => outcome?.state === "failed");
  if (tasks.some(({ outcome }) => outcome === null)) {
    if (cancelled) return { kind: "cancelTasks", because: "the DAG was cancelled" };
    if (overdue) return { kind: "cancelTasks", because: "the DAG timed out" };
    // A task that failed before the retry of another one is no reason to cancel that.
    const news = failed.filter(({ beforeRetry }) => !beforeRetry);
    const fast = onFailure === "cancel" && news.length > 0;
    return fast ? { kind: "cancelTasks", because: `${news[0]!.name} failed` } : { kind: "wait" };
  }
  if (cancelled) return { kind: "cancelled" };
  if (failed.length === 0) return { kind: "completed" };
  if (overdue && failed.every((task) => task.cancelled)) return { kind: "timeout" };
  // A task that was cancelled because another failed is not a failure of its own.
  const causes = failed.filter((task) => !task.cancelled);
  return { kind: "failed", failed: causes.length > 0 ? causes : failed };
}

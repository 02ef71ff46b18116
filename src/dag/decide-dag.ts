// What becomes of a DAG's run, given how its tasks stand. Pure.

import type { OwnTask } from "./supervise.js";

export interface DagFacts {
  readonly tasks: readonly OwnTask[];
  /** Somebody has cancelled the run. */
  readonly cancelled: boolean;
  /** Its time is over. */
  readonly overdue: boolean;
  readonly onFailure: "finish" | "cancel";
}

export type DagDecision =
  /** Nothing to do before a task ends. */
  | { readonly kind: "wait" }
  /** What is left is to be cancelled; then it waits until all have ended. */
  | { readonly kind: "cancelTasks"; readonly because: string }
  | { readonly kind: "completed" }
  | { readonly kind: "cancelled" }
  | { readonly kind: "timeout" }
  | { readonly kind: "failed"; readonly failed: readonly OwnTask[] };

/** It ends when all its tasks have: whoever hears of its end knows that nothing of it runs any more. */
export function decideDag({ tasks, cancelled, overdue, onFailure }: DagFacts): DagDecision {
  const failed = tasks.filter(({ outcome }) => outcome?.state === "failed");
  if (tasks.some(({ outcome }) => outcome === null)) {
    if (cancelled) return { kind: "cancelTasks", because: "the DAG was cancelled" };
    if (overdue) return { kind: "cancelTasks", because: "the DAG's time is over" };
    const fast = onFailure === "cancel" && failed.length > 0;
    return fast ? { kind: "cancelTasks", because: `${failed[0]!.name} failed` } : { kind: "wait" };
  }
  if (cancelled) return { kind: "cancelled" };
  if (failed.length === 0) return { kind: "completed" };
  if (overdue && failed.every((task) => task.cancelled)) return { kind: "timeout" };
  // What was cancelled because another failed is no failure of its own.
  const causes = failed.filter((task) => !task.cancelled);
  return { kind: "failed", failed: causes.length > 0 ? causes : failed };
}

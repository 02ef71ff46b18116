// A preview of a DAG's run without running it: each task with its queue, attempts, limits, and whether its rule lets it run.

import type { LimitRule } from "../kernel/limit-rule.js";
import type { Outcome } from "./outcome.js";
import type { Shape } from "./shape.js";
import type { AnyTask, TasksByName } from "./task.js";

/** What `plan` says about one task. */
export interface PlannedTask {
  /** The name of the task. */
  readonly task: string;
  /** A single task, or one run per item. */
  readonly kind: "task" | "each";
  /** Tasks of one level need only tasks of earlier levels. */
  readonly level: number;
  /** The tasks it needs. */
  readonly needs: readonly string[];
  /** The queue of its run. */
  readonly queue: string;
  /** In total, the first included. */
  readonly attempts: number;
  /** The limit of each attempt; null: none. */
  readonly timeoutMs: number | null;
  /** Null: that of the run. */
  readonly priority: number | null;
  /** Its limits on concurrency and rate. */
  readonly limits: readonly LimitRule[];
  /** If everything that runs succeeds: it runs, it is skipped, or null: that depends on what its needs return. */
  readonly runs: boolean | null;
}

/** Read by a rule, it says that the answer depends on a result. */
class Unforeseen {}

const SUCCEEDED: Outcome = {
  state: "succeeded",
  get value(): never {
    throw new Unforeseen();
  },
};
const SKIPPED: Outcome = { state: "skipped" };

export function planDag(name: string, tasks: TasksByName, { levels }: Shape, input: unknown): readonly PlannedTask[] {
  const runs = new Map<string, boolean | null>();
  return levels.flatMap((names, level) =>
    names.map((task): PlannedTask => {
      const made = tasks[task]!;
      const needs = Object.keys(made.needs);
      runs.set(task, willRun(made, needs, runs, input));
      return {
        task,
        kind: made.kind,
        level,
        needs,
        queue: made.queue ?? `${name}::${task}`,
        attempts: made.policy.attempts,
        timeoutMs: made.timeoutMs,
        priority: made.priority,
        limits: made.limits,
        runs: runs.get(task) ?? null,
      };
    }),
  );
}

function willRun(
  { when }: AnyTask,
  needs: readonly string[],
  runs: ReadonlyMap<string, boolean | null>,
  input: unknown,
): boolean | null {
  const known = needs.map((need) => runs.get(need) ?? null);
  if (when === null) return known.includes(false) ? false : known.includes(null) ? null : true;
  // A need that may be skipped is a result like any other: both answers are tried.
  const answers = [SUCCEEDED, SKIPPED].map((open): boolean | null => {
    const outcomes = needs.map((need, i) => [need, known[i] === null ? open : known[i] ? SUCCEEDED : SKIPPED]);
    try {
      return when(Object.fromEntries(outcomes) as never, input as never);
    } catch (error) {
      if (error instanceof Unforeseen) return null;
      throw error;
    }
  });
  const [one, other] = answers;
  return one === other ? (one ?? null) : null;
}

// The tasks of a DAG's run, or the items of a fan-out: their states, attempts, times and owners.

import { outcomeOf } from "../dag/outcome.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { RecordedError } from "../kernel/codec/recorded-error.js";
import { HoldfastError } from "../kernel/error.js";
import { isEnded, type RunState } from "../kernel/run/run-state.js";
import type { Holder } from "../store/contract/claim/claims.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";

/** `upstream_failed`: it did not run because of a failure above it; its run is `skipped`. */
export type TaskState = RunState | "upstream_failed";

/** One task of a DAG's run, or one item of a fan-out. */
export interface TaskStatus {
  /** Its name in the DAG; of an item of a fan-out, its index. */
  readonly name: string;
  /** The id of the task's own run. */
  readonly runId: string;
  /** Its state. */
  readonly state: TaskState;
  /** With `upstream_failed`: the tasks that failed. */
  readonly causes: readonly string[];
  /** How often its function was begun since it was started or retried. */
  readonly attempts: number;
  /** When it became ready, or will be claimed next; ms since 1970. */
  readonly readyAt: number;
  /** When it ended; ms since 1970. Null before that. */
  readonly endedAt: number | null;
  /** The node that holds it, or held it last. */
  readonly owner: Holder | null;
  /** What it failed with. */
  readonly error: RecordedError | null;
  /** Its run as it is stored. */
  readonly run: RunRecord;
}

export class TaskMissing extends HoldfastError {
  readonly code = "TASK_MISSING";

  constructor(runId: string, task: string, names: readonly string[]) {
    const known = names.length === 0 ? "It has started no tasks." : `Its tasks are ${names.slice(0, 50).join(", ")}.`;
    super(`Run ${runId} has no task ${JSON.stringify(task)}. ${known}`);
  }
}

/** The most tasks that are read at once. */
const PAGE = 25;
/** What troubles people most comes first. */
const FIRST: readonly TaskState[] = ["failed", "dead", "quarantined", "cancelled", "upstream_failed"];
const NOT_BEGUN: readonly RunState[] = ["blocked", "held", "waiting", "skipped", "cancelled"];

/** In the order in which they were started; with `failedFirst`, troubled ones before all others. */
export async function tasksOfRun(
  store: Store,
  codecs: Codecs,
  entries: readonly JournalEntry[],
  { limit, failedFirst = false }: { readonly limit: number; readonly failedFirst?: boolean },
): Promise<readonly TaskStatus[]> {
  const started = entries.filter(({ kind }) => kind === "task").map(({ name, key }) => ({ name, runId: key! }));
  const states = failedFirst ? await statesOf(store, started) : [];
  const rank = (i: number) => (FIRST.includes(states[i]!) ? FIRST.indexOf(states[i]!) : FIRST.length);
  const inOrder = failedFirst ? started.map((one, i) => ({ one, i })).sort((a, b) => rank(a.i) - rank(b.i)) : [];
  const chosen = (failedFirst ? inOrder.map(({ one }) => one) : started).slice(0, limit);
  const tasks: TaskStatus[] = [];
  for (let from = 0; from < chosen.length; from += PAGE) {
    const page = chosen.slice(from, from + PAGE);
    tasks.push(...(await Promise.all(page.map((one) => statusOf(store, codecs, one)))).flat());
  }
  return tasks;
}

interface StartedTask {
  readonly name: string;
  readonly runId: string;
}

async function statesOf(store: Store, started: readonly StartedTask[]): Promise<readonly TaskState[]> {
  const glances = await store.runs.glance(started.map(({ runId }) => runId));
  return glances.map((glance) => glance?.state ?? "completed");
}

/** A pruned task is left out. */
async function statusOf(store: Store, codecs: Codecs, { name, runId }: StartedTask): Promise<TaskStatus[]> {
  const [run, [claim], [end]] = await Promise.all([
    store.runs.get(runId),
    store.runs.claims(runId, { limit: 1 }),
    store.journal.peek([{ runId, what: "end" }]),
  ]);
  if (!run) return [];
  const outcome = end?.entry && run.state !== "completed" ? outcomeOf(end, codecs) : null;
  const causes = outcome?.state === "upstream_failed" ? outcome.causes : [];
  return [
    {
      name,
      runId,
      state: outcome?.state === "upstream_failed" ? "upstream_failed" : run.state,
      causes,
      attempts: NOT_BEGUN.includes(run.state) ? run.failures : run.failures + 1,
      readyAt: run.availableAt,
      endedAt: isEnded(run.state) ? run.endedAt : null,
      owner: claim?.holder ?? null,
      error: outcome?.state === "failed" ? outcome.error : null,
      run,
    },
  ];
}

/** The run of the task with this name. */
export function taskNamed(runId: string, entries: readonly JournalEntry[], task: string): string {
  const started = entries.filter(({ kind }) => kind === "task");
  const found = started.find(({ name }) => name === task);
  if (!found)
    throw new TaskMissing(
      runId,
      task,
      started.map(({ name }) => name),
    );
  return found.key!;
}

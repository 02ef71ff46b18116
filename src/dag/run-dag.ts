// Works on a claimed run of a DAG: the first time it starts all tasks in one commit and waits; woken, it looks how they stand.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { encodeError, storeError } from "../kernel/codec/stored-error.js";
import type { Effect } from "../kernel/run/effect.js";
import type { Household } from "../program/household.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { RunTimeout } from "../workflow/execute.js";
import type { AnyDag } from "./dag-definition.js";
import { type DagDecision, decideDag } from "./decide-dag.js";
import { DagFailed } from "./error.js";
import type { TaskStart } from "./run-task.js";
import { lookAtTasks, type Mail, type OwnTask, openMail, parkForTasks } from "./supervise.js";

export async function runDag(dag: AnyDag, household: Household, session: Session): Promise<void> {
  const { codecs } = household;
  const history = await session.history(dag.timeoutMs !== null);
  const mail = await openMail(session, history, codecs);
  const deadline = deadlineOf(dag, history);
  const wakeInMs = deadline === null ? null : Math.max(Math.ceil(deadline - session.databaseNow()), 0);
  const wait = () => parkForTasks(mail, { wakeInMs, onFailure: dag.onFailure === "cancel" });
  const commit = (...effects: readonly Effect[]) => session.commit([...mail.takes, ...effects]);
  if (mail.paused) return void (await commit({ kind: "handBack" }));
  if (!history.some(({ kind }) => kind === "task")) {
    if (mail.cancelled) return void (await commit({ kind: "fail", as: "cancelled", reason: mail.cancelled }));
    return void (await commit(...startTasks(dag, household, session), wait()));
  }
  const overdue = wakeInMs === 0;
  let tasks = await lookAtTasks(session, history, codecs);
  let decision = decideDag({ tasks, cancelled: mail.cancelled !== null, overdue, onFailure: dag.onFailure });
  if (decision.kind === "cancelTasks") {
    await session.cancelTasks(decision.because);
    tasks = await lookAtTasks(session, history, codecs);
    decision = decideDag({ tasks, cancelled: mail.cancelled !== null, overdue, onFailure: dag.onFailure });
  }
  if (decision.kind === "wait") return void (await commit(wait()));
  // Told once; now only the end of the last one is news.
  if (decision.kind === "cancelTasks") return void (await commit(parkForTasks(mail)));
  await commit(endOf(decision, dag, tasks, mail, codecs, session));
}

/** From the start of the run, or from when it was opened again. */
function deadlineOf({ timeoutMs }: AnyDag, history: readonly JournalEntry[]): number | null {
  if (timeoutMs === null) return null;
  const since = history.findLast(({ kind }) => kind === "retried") ?? history[0]!;
  return since.at + timeoutMs;
}

/** In the order in which they can run. The run's input is not copied: each task reads it from here. */
function startTasks({ name, version, tasks, order }: AnyDag, household: Household, session: Session): Effect[] {
  const { runId, priority } = session.run;
  const ids = new Map<string, string>();
  return order.map((task): Effect => {
    const { queue, needs: needed } = tasks[task]!;
    const needs = Object.fromEntries(Object.keys(needed).map((need) => [need, ids.get(need)!]));
    const program = `${name}::${task}`;
    const start: TaskStart = { dag: runId, needs };
    const run = household.newChild({ name: program, queue: queue ?? program, version, limits: [] }, start);
    ids.set(task, run.id);
    return { kind: "enqueue", name: task, run: { ...run, priority }, task: { needs: Object.values(needs) } };
  });
}

function endOf(
  decision: DagDecision,
  dag: AnyDag,
  tasks: readonly OwnTask[],
  mail: Mail,
  codecs: Codecs,
  session: Session,
): Effect {
  switch (decision.kind) {
    case "completed":
      return completed(dag, tasks, codecs);
    case "cancelled":
      return { kind: "fail", as: "cancelled", reason: mail.cancelled! };
    case "timeout":
      return { kind: "fail", as: "failed", reason: storeError(codecs, new RunTimeout(session.run.runId)) };
    default: {
      const failed = decision.kind === "failed" ? decision.failed : [];
      const failures = failed.flatMap(({ name, runId, outcome }) =>
        outcome?.state === "failed"
          ? { task: name, runId, error: encodeError(outcome.error), thrown: outcome.error }
          : [],
      );
      const errors = failures.map(({ thrown }) => thrown);
      return { kind: "fail", as: "failed", reason: storeError(codecs, new DagFailed(dag.name, failures, errors)) };
    }
  }
}

/** What the tasks answered, by name; a task that was skipped has no answer. */
function completed({ result }: AnyDag, tasks: readonly OwnTask[], codecs: Codecs): Effect {
  const wanted = tasks.filter(({ name }) => result === null || result.includes(name));
  const output = Object.fromEntries(
    wanted.flatMap(({ name, outcome }) => (outcome?.state === "succeeded" ? [[name, outcome.value]] : [])),
  );
  try {
    return {
      kind: "complete",
      output: codecs.encode(output, "result (choose fewer tasks with the DAG's option `result`)"),
    };
  } catch (error) {
    return { kind: "fail", as: "failed", reason: storeError(codecs, error) };
  }
}

// Executes a claimed DAG run: the first time it starts all tasks in one commit and parks; when woken, it evaluates
// their states.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { encodeError, storeError } from "../kernel/codec/stored-error.js";
import type { Effect } from "../kernel/run/effect.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { RunTimeout } from "../replay/run-error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { AnyDag } from "./dag-definition.js";
import { type DagDecision, decideDag } from "./decide-dag.js";
import { DagFailed } from "./error.js";
import type { TaskStart } from "./run-task.js";
import { lookAtTasks, type Mail, type OwnTask, openMail, parkForTasks } from "./supervise.js";

export async function runDag(dag: AnyDag, environment: ProgramEnvironment, session: Session): Promise<void> {
  const { codecs } = environment;
  const history = await session.history(dag.timeoutMs !== null);
  const mail = await openMail(session, history, codecs);
  const deadline = deadlineOf(dag, history);
  const wakeInMs = deadline === null ? null : Math.max(Math.ceil(deadline - session.databaseNow()), 0);
  const wait = () => parkForTasks(mail, { wakeInMs, onFailure: dag.onFailure === "cancel" });
  const commit = (...effects: readonly Effect[]) => session.commit([...mail.takes, ...effects]);
  if (mail.paused) return void (await commit({ kind: "handBack" }));
  if (!history.some(({ kind }) => kind === "task")) {
    if (mail.cancelled) return void (await commit({ kind: "fail", as: "cancelled", reason: mail.cancelled }));
    return void (await commit(...startTasks(dag, environment, session), wait()));
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
  // The tasks were cancelled; now only the end of the last one matters.
  if (decision.kind === "cancelTasks") return void (await commit(parkForTasks(mail)));
  await commit(endOf(decision, { dag, tasks, mail, codecs, session }));
}

/** From the start of the run, or from its retry. */
function deadlineOf({ timeoutMs }: AnyDag, history: readonly JournalEntry[]): number | null {
  if (timeoutMs === null) return null;
  const since = history.findLast(({ kind }) => kind === "retried") ?? history[0]!;
  return since.at + timeoutMs;
}

/** In the order in which they can run. The run's input is not copied: each task reads it from here. */
function startTasks(
  { name, version, tasks, order }: AnyDag,
  environment: ProgramEnvironment,
  session: Session,
): Effect[] {
  const { runId, priority } = session.run;
  const ids = new Map<string, string>();
  return order.map((task): Effect => {
    const { queue, needs: needed } = tasks[task]!;
    const needs = Object.fromEntries(Object.keys(needed).map((need) => [need, ids.get(need)!]));
    const program = `${name}::${task}`;
    const start: TaskStart = { dag: runId, needs };
    const run = environment.newChild({ name: program, queue: queue ?? program, version, limits: [] }, start);
    ids.set(task, run.id);
    return { kind: "enqueue", name: task, run: { ...run, priority }, task: { needs: Object.values(needs) } };
  });
}

interface DagRun {
  readonly dag: AnyDag;
  readonly tasks: readonly OwnTask[];
  readonly mail: Mail;
  readonly codecs: Codecs;
  readonly session: Session;
}

function endOf(decision: DagDecision, { dag, tasks, mail, codecs, session }: DagRun): Effect {
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

/** The results of the tasks, by name; a skipped task has none. */
function completed({ result }: AnyDag, tasks: readonly OwnTask[], codecs: Codecs): Effect {
  const wanted = tasks.filter(({ name }) => result === null || result.includes(name));
  const output = Object.fromEntries(
    wanted.flatMap(({ name, outcome }) => (outcome?.state === "succeeded" ? [[name, outcome.value]] : [])),
  );
  try {
    return {
      kind: "complete",
      output: codecs.encode(output, "result (select fewer tasks with the DAG's option `result`)"),
    };
  } catch (error) {
    return { kind: "fail", as: "failed", reason: storeError(codecs, error) };
  }
}

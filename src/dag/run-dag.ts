// Executes a claimed DAG run: the first time it starts all tasks in one commit and parks; when woken, it evaluates
// their states.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { ResultReference, referenceTo } from "../kernel/codec/result-reference.js";
import { encodeError, storeError } from "../kernel/codec/stored-error.js";
import { newLimits } from "../kernel/limit-rule.js";
import type { Effect, FailEffect } from "../kernel/run/effect.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { RunTimeout } from "../replay/run-error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { AnyDag } from "./dag-definition.js";
import { type DagDecision, decideDag } from "./decide-dag.js";
import { storeDagFailed } from "./error.js";
import { encodeOrRefer } from "./run-each.js";
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
    const started = startTasks(dag, environment, session, codecs.decode(history[0]!.payload!));
    return void (await commit(...(Array.isArray(started) ? [...started, wait()] : [started])));
  }
  const facts = { cancelled: mail.cancelled !== null, overdue: wakeInMs === 0, onFailure: dag.onFailure };
  let tasks = await lookAtTasks(session, history, codecs);
  let decision = decideDag({ ...facts, tasks });
  if (decision.kind === "cancelTasks") {
    await session.cancelTasks(decision.because);
    tasks = await lookAtTasks(session, history, codecs);
    decision = decideDag({ ...facts, tasks });
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

/**
 * In the order in which they can run. The run's input is not copied: each task reads it from here. An input without the key of a
 * task's limit fails the run before anything has begun.
 */
function startTasks(
  { name, version, tasks, order }: AnyDag,
  { newChild, codecs }: ProgramEnvironment,
  { run: { runId, priority } }: Session,
  input: unknown,
): Effect[] | FailEffect {
  const ids = new Map<string, string>();
  const start = (task: string): Effect => {
    const { queue, needs: needed, each, limits: rules, priority: own } = tasks[task]!;
    const needs = Object.fromEntries(Object.keys(needed).map((need) => [need, ids.get(need)!]));
    const program = { name: `${name}::${task}`, queue: queue ?? `${name}::${task}`, version, limits: [] };
    const run = newChild(program, { dag: runId, needs } satisfies TaskStart);
    const limits = each === null ? newLimits(rules, program.queue, input) : [];
    ids.set(task, run.id);
    const how = { priority: own ?? priority, ...(limits.length > 0 && { limits }) };
    return { kind: "enqueue", name: task, run: { ...run, ...how }, task: { needs: Object.values(needs) } };
  };
  try {
    return order.map(start);
  } catch (error) {
    return { kind: "fail", as: "failed", reason: storeError(codecs, error) };
  }
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
      return { kind: "fail", as: "failed", reason: storeDagFailed(codecs, dag.name, failures) };
    }
  }
}

/** The results of the tasks, by name; a skipped task has none. Too large together, they stay where they are. */
function completed({ result }: AnyDag, tasks: readonly OwnTask[], codecs: Codecs): Effect {
  const wanted = tasks.filter(({ name, outcome }) => {
    return outcome?.state === "succeeded" && (result === null || result.includes(name));
  });
  const resultOf = ({ outcome }: OwnTask) => (outcome as { readonly value?: unknown }).value;
  const runs = () => Object.fromEntries(wanted.map(({ name, runId }) => [name, runId]));
  if (wanted.some((task) => resultOf(task) instanceof ResultReference))
    return { kind: "complete", output: referenceTo(runs()) };
  const output = Object.fromEntries(wanted.map((task) => [task.name, resultOf(task)]));
  return { kind: "complete", output: encodeOrRefer(output, codecs, runs) };
}

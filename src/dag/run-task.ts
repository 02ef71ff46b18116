// Executes one claimed task: reads the outcomes of its needs, evaluates its rule, runs its function over its journal.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { ResultReference, readReference } from "../kernel/codec/result-reference.js";
import { storeError, tamed } from "../kernel/codec/stored-error.js";
import type { Effect } from "../kernel/run/effect.js";
import { attemptsLeft, retryDelayMs, spread } from "../kernel/run/retry.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { readRecorded } from "../replay/recorded.js";
import { Replay } from "../replay/replay.js";
import { type SessionOutcome as Played, settlement } from "../replay/settlement.js";
import { PermanentError } from "../replay/step-error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { isOfTheStore } from "../store/contract/trouble.js";
import { play } from "../workflow/execute.js";
import { TaskTimeout } from "./error.js";
import { causesIn, type Outcome, outcomeOf, type SkipReason } from "./outcome.js";
import type { AnyTask } from "./task.js";
import { TaskRunContext } from "./task-context.js";

/** The input of a task's run: the DAG's run and the runs of its needs; or one item of a fan-out. */
export interface TaskStart {
  readonly dag: string;
  readonly needs?: Readonly<Record<string, string>>;
  readonly item?: unknown;
  readonly index?: number;
}

/** The task is not run: its rule said no, or one of its needs did not succeed. Behind a failure, that is the reason. */
export class Skip {
  readonly reason: SkipReason;

  constructor(because: "when" | "needs", names: readonly string[], needs: Readonly<Record<string, Outcome>>) {
    const causes = causesIn(needs);
    this.reason = causes.length > 0 ? { because: "upstream_failed", needs: names, causes } : { because, needs: names };
  }
}

export async function runTask(
  name: string,
  task: AnyTask,
  environment: ProgramEnvironment,
  session: Session,
): Promise<void> {
  const { codecs, historyLimit, newChild, writes, servicesFor } = environment;
  const history = await session.history(false);
  const start = codecs.decode(history[0]!.payload!) as TaskStart;
  const since = attemptSince(history, session);
  const replay = new Replay(session, readRecorded(history), {
    timeoutMs: task.timeoutMs,
    since,
    historyLimit,
    retried: true,
  });
  const outcome = await play(replay, environment, async () => {
    try {
      const { input, needs } = await given(session, start, codecs);
      const argument = argumentOf(task, start, input, needs);
      const services = await servicesFor({ runId: session.run.runId, program: name, input });
      const place = { input, dagRunId: start.dag, task: name };
      const ctx = new TaskRunContext(replay, { codecs, newChild, writes, services }, place);
      const work = async () => task.run(ctx, argument as never, start.index as never);
      const { world, run } = session;
      const body = world.perform ? world.perform({ runId: run.runId, kind: "task", name, info: ctx }, work) : work();
      return { body };
    } catch (thrown) {
      const error = tamed(thrown);
      if (isEngineError(error)) throw error;
      return { body: Promise.reject(error) };
    }
  });
  // Released now, the next attempt would begin next to a function that ignores its abort.
  if (outcome.kind === "timeout" && !task.overlap) await replay.untilQuiet();
  // An error caused by the abort of a stopping node or a pause is not the task's own failure, and its result may be
  // partial.
  const dropped = outcome.kind === "threw" || (outcome.kind === "returned" && !task.finishOnAbort);
  const effect: Effect =
    dropped && replay.endedLate ? { kind: "handBack" } : effectOf(outcome, { name, task }, codecs, session);
  await session.commit([effect]);
}

/** One read for the DAG's input and the ends of all needs; the reads of tasks claimed together share a statement. */
export async function given(
  session: Session,
  { dag, needs = {} }: TaskStart,
  codecs: Codecs,
): Promise<{ readonly input: unknown; readonly needs: Readonly<Record<string, Outcome>> }> {
  const names = Object.keys(needs);
  const [started, ...ends] = await session.peek([
    { runId: dag, what: "start" },
    ...names.map((name) => ({ runId: needs[name]!, what: "end" as const })),
  ]);
  // The DAG's run is dead and was deleted before its tasks had ended: without its input the task cannot do anything
  // correct.
  if (!started) throw new PermanentError(`The run ${dag} of its DAG no longer exists.`);
  const outcomes = names.map((name, i) => [name, outcomeOf(ends[i], codecs)] as const);
  const open = outcomes.find(([, outcome]) => outcome === null);
  if (open) throw new PermanentError(`It was claimed before ${JSON.stringify(open[0])} had ended. Please report this.`);
  const read = await Promise.all(
    outcomes.map(async ([name, outcome]) => [name, await withValue(outcome!, codecs, session)] as const),
  );
  return {
    input: started.entry?.payload ? codecs.decode(started.entry.payload) : undefined,
    needs: Object.fromEntries(read),
  };
}

/** A large result is read from the runs that have its parts. */
async function withValue(outcome: Outcome, codecs: Codecs, session: Session): Promise<Outcome> {
  if (outcome.state !== "succeeded" || !(outcome.value instanceof ResultReference)) return outcome;
  const ends = async (ids: readonly string[]) => {
    const peeked = await session.peek(ids.map((runId) => ({ runId, what: "end" })));
    return peeked.map((one) => one?.entry?.payload ?? null);
  };
  return { state: "succeeded", value: await readReference(outcome.value, codecs, ends) };
}

/**
 * The function's second argument: outcomes under a rule, values without one, the input of a task without needs, or an
 * item.
 */
function argumentOf(
  task: AnyTask,
  start: TaskStart,
  input: unknown,
  needs: Readonly<Record<string, Outcome>>,
): unknown {
  if (start.index !== undefined) return start.item;
  expectWanted(task, needs, input);
  if (task.takesInput) return input;
  return task.when === null ? valuesOf(needs) : needs;
}

/** Asks the rule, if the task has one. */
export function expectWanted({ when }: AnyTask, needs: Readonly<Record<string, Outcome>>, input: unknown): void {
  if (when !== null && !when(needs as never, input as never)) throw new Skip("when", Object.keys(needs), needs);
}

export function valuesOf(needs: Readonly<Record<string, Outcome>>): Readonly<Record<string, unknown>> {
  const missing = Object.keys(needs).filter((name) => needs[name]!.state !== "succeeded");
  if (missing.length > 0) throw new Skip("needs", missing, needs);
  return Object.fromEntries(
    Object.entries(needs).map(([name, outcome]) => [name, (outcome as { value?: unknown }).value]),
  );
}

/**
 * From when the timeout of the attempt counts. One that waits is parked and claimed again and again: it began with the first entry of
 * these claims. A claim that follows no park was taken over from a process that died, or resumed: the time before is not its own.
 */
function attemptSince(history: readonly JournalEntry[], { run }: Session): number {
  const begins = history.findLastIndex(({ kind }) => kind === "start" || kind === "retry" || kind === "retried");
  let [since, epoch] = [run.claimedAt, run.epoch];
  for (const entry of history.slice(begins + 1).reverse()) {
    if (entry.epoch !== epoch && entry.kind !== "parked") break;
    ({ at: since, epoch } = entry);
  }
  return since;
}

/** The claim is lost, or the store is unreachable: not a failure of the task. */
export function isEngineError(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === "CLAIM_LOST" || code === "JOURNAL_MOVED" || isOfTheStore(error);
}

function effectOf(
  outcome: Played,
  { name, task }: { readonly name: string; readonly task: AnyTask },
  codecs: Codecs,
  session: Session,
): Effect {
  if (outcome.kind === "timeout") return failure(new TaskTimeout(name, task.timeoutMs!), task, codecs, session);
  if (outcome.kind !== "threw") return settlement(outcome, codecs, session);
  const { error } = outcome;
  if (error instanceof Skip) return { kind: "fail", as: "skipped", reason: codecs.encode(error.reason) };
  return failure(error, task, codecs, session);
}

/** Another attempt, or the end. The delay is computed, not random, like that of a step. */
export function failure(error: unknown, task: AnyTask, codecs: Codecs, { run }: Session): Effect {
  const stored = storeError(codecs, error);
  const failures = run.failures + 1;
  if (attemptsLeft(task.policy, failures) <= 0 || !isWorthIt(task, error)) {
    return { kind: "fail", as: "failed", reason: stored };
  }
  const delayMs = retryDelayMs(task.policy, failures, () => spread(`${run.runId}:${failures}`));
  return { kind: "retry", delayMs, error: stored };
}

function isWorthIt({ retryIf }: AnyTask, error: unknown): boolean {
  if (error instanceof PermanentError) return false;
  if (retryIf === null) return true;
  try {
    return retryIf(error);
  } catch {
    return false; // A throwing retryIf gives no answer; the task's own error decides.
  }
}

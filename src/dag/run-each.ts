// Executes a claimed fan-out: starts a run for each item of its list, waits for them, and collects their results.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { Payload } from "../kernel/codec/payload.js";
import { type ReferredRuns, referenceTo } from "../kernel/codec/result-reference.js";
import { storeError, tamed } from "../kernel/codec/stored-error.js";
import { newLimits } from "../kernel/limit-rule.js";
import type { Effect } from "../kernel/run/effect.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { PermanentError } from "../replay/step-error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { EachFailed } from "./error.js";
import { expectWanted, failure, given, isEngineError, Skip, type TaskStart, valuesOf } from "./run-task.js";
import { lookAtTasks, type Mail, type OwnTask, openMail, parkForTasks } from "./supervise.js";
import type { AnyTask } from "./task.js";

/** Items started per commit. */
const CHUNK = 250;
/** How many errors of failed items are kept. */
const MOST_ERRORS = 20;

export async function runEach(
  name: string,
  program: Program,
  environment: ProgramEnvironment,
  session: Session,
): Promise<void> {
  const { codecs } = environment;
  const history = await session.history(false);
  const start = codecs.decode(history[0]!.payload!) as TaskStart;
  const mail = await openMail(session, history, codecs);
  const commit = (...effects: readonly Effect[]) => session.commit([...mail.takes, ...effects]);
  if (mail.paused) return void (await commit({ kind: "handBack" }));
  const counted = history.find(({ kind }) => kind === "each");
  const begun = history.filter(({ kind }) => kind === "task").length;
  const total = counted ? Number(counted.key) : null;
  if (total !== null && (begun === total || (mail.cancelled && begun > 0))) {
    return void (await commit(await lookAtItems(name, environment.codecs, { session, history, mail })));
  }
  if (mail.cancelled) return void (await commit({ kind: "fail", as: "cancelled", reason: mail.cancelled }));
  try {
    await startItems({ start, total, begun, mail }, program, environment, session);
  } catch (thrown) {
    const error = tamed(thrown);
    if (error instanceof Skip) await commit({ kind: "fail", as: "skipped", reason: codecs.encode(error.reason) });
    else if (isEngineError(error)) throw error;
    else await commit(await afterItems(failure(error, program.task, codecs, session), mail, session));
  }
}

/** The fan-out ends after its items, even if only some were started: once it has ended, nothing of it runs any more. */
async function afterItems(effect: Effect, mail: Mail, session: Session): Promise<Effect> {
  if (effect.kind !== "fail") return effect;
  return (await session.cancelTasks("the fan-out cannot continue")) > 0 ? parkForTasks(mail) : effect;
}

export interface Program {
  readonly task: AnyTask;
  readonly name: string;
  readonly queue: string;
  readonly version: string | null;
}

interface Begun {
  readonly start: TaskStart;
  /** The length of the list when the fan-out began; null before that. */
  readonly total: number | null;
  readonly begun: number;
  readonly mail: Mail;
}

/** A list longer than a chunk takes several commits; the next holder finds its position in the journal. */
async function startItems(
  { start, total, begun, mail }: Begun,
  { task, ...program }: Program,
  { codecs, newChild }: ProgramEnvironment,
  session: Session,
): Promise<void> {
  const { runId, priority } = session.run;
  const { input, needs } = await given(session, start, codecs);
  const { over, parallel } = task.each!;
  expectWanted(task, needs, input);
  const items = over((task.when === null ? valuesOf(needs) : needs) as never, input as never);
  if (!Array.isArray(items)) throw new PermanentError("`over` must return a list.");
  if (total !== null && items.length !== total)
    throw new PermanentError(
      `\`over\` returned ${total} items before and ${items.length} now; it must return the same list each time.`,
    );
  const own = parallel === null ? [] : [{ kind: "slots", key: `each ${runId}`, max: parallel } as const];
  const limits = [...own, ...newLimits(task.limits, program.queue, input)];
  const enqueue = (item: unknown, index: number): Effect => {
    const run = newChild({ ...program, limits: [] }, { dag: start.dag, item, index } satisfies TaskStart);
    return { kind: "enqueue", name: String(index), run: { ...run, priority, limits }, task: { needs: [] } };
  };
  const effects: Effect[] = [...mail.takes];
  if (total === null) effects.push({ kind: "append", entry: { kind: "each", name: "", key: String(items.length) } });
  if (items.length === 0) effects.push({ kind: "complete", output: codecs.encode([]) });
  for (let from = begun; from < items.length; from += CHUNK) {
    effects.push(...items.slice(from, from + CHUNK).map((item, i) => enqueue(item, from + i)));
    if (from + CHUNK >= items.length) effects.push(parkForTasks(mail));
    else await session.commit(effects.splice(0));
  }
  await session.commit(effects);
}

async function lookAtItems(
  name: string,
  codecs: Codecs,
  {
    session,
    history,
    mail,
  }: { readonly session: Session; readonly history: readonly JournalEntry[]; readonly mail: Mail },
): Promise<Effect> {
  let items = await lookAtTasks(session, history, codecs);
  if (mail.cancelled && items.some(isOpen)) {
    await session.cancelTasks("the fan-out was cancelled");
    items = await lookAtTasks(session, history, codecs);
  }
  if (items.some(isOpen)) return parkForTasks(mail);
  if (mail.cancelled) return { kind: "fail", as: "cancelled", reason: mail.cancelled };
  const failed = items.flatMap(({ outcome }, i) => (outcome?.state === "failed" ? { i, error: outcome.error } : []));
  if (failed.length > 0) {
    const errors = failed.slice(0, MOST_ERRORS).map(({ error }) => error);
    const indexes = failed.map(({ i }) => i);
    return {
      kind: "fail",
      as: "failed",
      reason: storeError(codecs, new EachFailed(name, items.length, indexes, errors)),
    };
  }
  const values = items.map(({ outcome }) => (outcome?.state === "succeeded" ? outcome.value : undefined));
  return { kind: "complete", output: encodeOrRefer(values, codecs, () => items.map(({ runId }) => runId)) };
}

/** Values that came from entries fit into entries, but perhaps not together: then the result refers to their runs. */
export function encodeOrRefer(value: unknown, codecs: Codecs, runs: () => ReferredRuns): Payload {
  try {
    return codecs.encode(value, "result");
  } catch {
    return referenceTo(runs());
  }
}

function isOpen({ outcome }: OwnTask): boolean {
  return outcome === null;
}

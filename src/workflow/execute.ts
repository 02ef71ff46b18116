// Executes one claimed workflow run: replays its journal, continues, then releases the claim with the outcome.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { storeError } from "../kernel/codec/stored-error.js";
import { HoldfastError } from "../kernel/error.js";
import type { Effect } from "../kernel/run/effect.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { readRecorded } from "../replay/recorded.js";
import { Replay, type SessionOutcome } from "../replay/replay.js";
import { messageTaker } from "../replay/take-messages.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import type { AnyWorkflow } from "./context.js";
import { WorkflowContext } from "./workflow-context.js";

/** The run took longer than its workflow allows. */
export class RunTimeout extends HoldfastError {
  readonly code = "TIMEOUT";

  constructor(runId: string) {
    super(`Run ${runId} took longer than its program's timeout.`);
  }
}

/** Code and journal do not fit. The journal is unchanged: the run is left to a node whose code fits. */
export class JournalMismatch extends HoldfastError {
  readonly code = "JOURNAL_MISMATCH";
  readonly details: { readonly recorded: readonly object[]; readonly asked: readonly string[] };

  constructor({ missing, asked }: Extract<SessionOutcome, { kind: "mismatch" }>) {
    const recorded = missing.map(({ seq, kind, name, key }) => ({ seq, kind, name, key }));
    const lines = recorded.map(({ seq, kind, name }) => `recorded, not made: ${seq} ${kind} ${JSON.stringify(name)}`);
    super(
      `The code does not make the calls that the journal has recorded. The run continues on a node whose code does.\n` +
        [...lines, ...asked.map((title) => `made, not recorded: ${title}`)].join("\n"),
    );
    this.details = { recorded, asked };
  }
}

/**
 * The journal of this generation has grown beyond the node's limit. It is kept: the run can be read, cancelled and
 * retried.
 */
export class HistoryTooLong extends HoldfastError {
  readonly code = "HISTORY_LIMIT";

  constructor(runId: string, length: number) {
    super(
      `The journal of run ${runId} has ${length} entries; no more are added. ` +
        "Call continueAsNew earlier in the workflow, or raise recovery.historyLimit and retry the run.",
    );
  }
}

/** How many rounds a session is held while the store is unreachable, before its run is released: some seconds. */
const HELD_ROUNDS = 4;

export function workflowProgram(workflow: AnyWorkflow, environment: ProgramEnvironment): Program {
  const { kind, name, version, queue, limits, breaker, recovery = "resume" } = workflow;
  const facts = { kind, name, version, queue, limits, breaker, recovery };
  return { ...facts, execute: (session) => execute(workflow, environment, session) };
}

async function execute(workflow: AnyWorkflow, environment: ProgramEnvironment, session: Session): Promise<void> {
  const { timeoutMs } = workflow;
  const history = await session.history(timeoutMs !== null);
  const replay = new Replay(session, readRecorded(history), { timeoutMs, historyLimit: environment.historyLimit });
  const outcome = await play(replay, environment, () => begin(workflow, environment, replay));
  await session.commit([settlement(outcome, environment.codecs, session)]);
}

/**
 * Takes in new messages, then runs a function over its journal. `begin` returns the function's own promise, boxed, so
 * that awaiting `begin` does not await the function.
 */
export async function play(
  replay: Replay,
  { historyWarning, onLongHistory }: ProgramEnvironment,
  begin: () => Promise<{ readonly body: Promise<unknown> }>,
): Promise<SessionOutcome> {
  const { session } = replay;
  const mail = messageTaker(replay);
  if (mail.isDue) await mail.take();
  if (replay.stopped) return replay.stopped;
  const before = session.length;
  const { body } = await begin();
  const outcome = await replay.run(body, mail);
  const after = session.length;
  if (before < historyWarning && after >= historyWarning) onLongHistory(session.run.runId, after);
  if (outcome.kind !== "threw" || !isStoreTrouble(outcome.error)) return outcome;
  // The store failed, not the function: after a few rounds the run is released unchanged.
  for (let tries = 1; tries <= HELD_ROUNDS && !session.stopping; tries++)
    await session.holdOut("run", outcome.error, tries, session.workSignal).catch(() => {});
  return { kind: "handBack" };
}

/** A function that throws before its first await, or whose services cannot be created, fails its run like any other. */
async function begin(
  { run, name: program }: AnyWorkflow,
  { codecs, newChild, servicesFor }: ProgramEnvironment,
  replay: Replay,
): Promise<{ body: Promise<unknown> }> {
  try {
    const { runId } = replay.session.run;
    const input = codecs.decode(replay.recorded.start.payload!);
    const services = await servicesFor({ runId, program, input });
    const ctx = new WorkflowContext(replay, { codecs, newChild, services });
    return { body: (async () => run(ctx, input))() };
  } catch (error) {
    return { body: Promise.reject(error) };
  }
}

/** The effect with which the claim is released. */
export function settlement(outcome: SessionOutcome, codecs: Codecs, session: Session): Effect {
  switch (outcome.kind) {
    case "returned":
      return complete(outcome.value, codecs);
    case "threw":
      return { kind: "fail", as: "failed", reason: storeError(codecs, outcome.error) };
    case "handBack":
      return { kind: "handBack" };
    case "cancelled":
      return { kind: "fail", as: "cancelled", reason: outcome.entry.payload ?? codecs.encode(null) };
    case "waits": {
      const wakeInMs = outcome.wakeAt === null ? null : Math.max(Math.ceil(outcome.wakeAt - session.databaseNow()), 0);
      return { kind: "park", wakeInMs, wakeAfter: outcome.wakeAfter, seenInboxSeq: session.inboxSeq };
    }
    case "continueAsNew":
      return { kind: "continue", input: outcome.input, reopen: outcome.reopen };
    case "tooLong":
      return {
        kind: "fail",
        as: "quarantined",
        reason: storeError(codecs, new HistoryTooLong(session.run.runId, outcome.length)),
      };
    case "timeout":
      return { kind: "fail", as: "failed", reason: storeError(codecs, new RunTimeout(session.run.runId)) };
    case "mismatch":
      return misfit(new JournalMismatch(outcome), codecs, session);
  }
}

/** This build cannot continue the run; another build may. */
export function misfit(error: HoldfastError, codecs: Codecs, { build }: Session): Effect {
  return { kind: "misfit", build, reason: storeError(codecs, error) };
}

/** A result that cannot be stored fails the run, so that it is not lost silently. */
function complete(value: unknown, codecs: Codecs): Effect {
  try {
    return { kind: "complete", output: codecs.encode(value, "result") };
  } catch (error) {
    return { kind: "fail", as: "failed", reason: storeError(codecs, error) };
  }
}

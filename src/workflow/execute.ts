// Works on one claimed run of a workflow: replay, then go on, then give the claim back with what came of it.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { storeError } from "../kernel/codec/stored-error.js";
import { HoldfastError } from "../kernel/error.js";
import type { Effect } from "../kernel/run/effect.js";
import type { Household } from "../program/household.js";
import { readRecorded } from "../replay/recorded.js";
import { type Outcome, Replay } from "../replay/replay.js";
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

/** Code and journal do not fit. The log is untouched: the run is left to a node whose code fits. */
export class JournalMismatch extends HoldfastError {
  readonly code = "JOURNAL_MISMATCH";
  readonly details: { readonly recorded: readonly object[]; readonly asked: readonly string[] };

  constructor({ missing, asked }: Extract<Outcome, { kind: "mismatch" }>) {
    const recorded = missing.map(({ seq, kind, name, key }) => ({ seq, kind, name, key }));
    const lines = recorded.map(
      ({ seq, kind, name }) => `recorded, not asked for: ${seq} ${kind} ${JSON.stringify(name)}`,
    );
    super(
      `This code does not ask for what the journal has recorded. The run continues on a node with code that does.\n` +
        [...lines, ...asked.map((title) => `asked for, not recorded: ${title}`)].join("\n"),
    );
    this.details = { recorded, asked };
  }
}

/** The log of this generation has grown beyond the node's limit. It is kept: the run can be read, cancelled and retried. */
export class HistoryTooLong extends HoldfastError {
  readonly code = "HISTORY_LIMIT";

  constructor(runId: string, length: number) {
    super(
      `The journal of run ${runId} has ${length} entries; no more are added. ` +
        "Let the workflow begin anew in time (continueAsNew), or raise recovery.historyLimit and retry the run.",
    );
  }
}

/** How often it is told that the store's trouble ended a function, before its run is given back: some seconds. */
const HELD_ROUNDS = 4;

export function workflowProgram(workflow: AnyWorkflow, household: Household): Program {
  const { kind, name, version, queue, limits, breaker, recovery = "resume" } = workflow;
  const facts = { kind, name, version, queue, limits, breaker, recovery };
  return { ...facts, execute: (session) => execute(workflow, household, session) };
}

async function execute(workflow: AnyWorkflow, household: Household, session: Session): Promise<void> {
  const { timeoutMs } = workflow;
  const history = await session.history(timeoutMs !== null);
  const replay = new Replay(session, readRecorded(history), { timeoutMs, historyLimit: household.historyLimit });
  const outcome = await play(replay, household, () => begin(workflow, household, replay));
  await session.commit([settlement(outcome, household.codecs, session)]);
}

/**
 * Takes in what came meanwhile, then runs a function over its journal. `begin` answers the function's own promise, boxed: it
 * is under way when that resolves.
 */
export async function play(
  replay: Replay,
  { historyWarning, onLongHistory }: Household,
  begin: () => Promise<{ readonly body: Promise<unknown> }>,
): Promise<Outcome> {
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
  // Nothing that the function did: it is given back after a while, as it is.
  for (let tries = 1; tries <= HELD_ROUNDS && !session.stopping; tries++)
    await session.holdOut("run", outcome.error, tries, session.workSignal).catch(() => {});
  return { kind: "handBack" };
}

/** One that throws before its first await, or whose services cannot be had, fails its run like any other. */
async function begin(
  { run, name: program }: AnyWorkflow,
  { codecs, newChild, servicesFor }: Household,
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

/** How the claim is given back. */
export function settlement(outcome: Outcome, codecs: Codecs, session: Session): Effect {
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
    case "anew":
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

/** This code cannot continue it; code of another build may. */
export function misfit(error: HoldfastError, codecs: Codecs, { build }: Session): Effect {
  return { kind: "misfit", build, reason: storeError(codecs, error) };
}

/** A result that cannot be stored fails the run: it must not be lost in silence. */
function complete(value: unknown, codecs: Codecs): Effect {
  try {
    return { kind: "complete", output: codecs.encode(value, "result") };
  } catch (error) {
    return { kind: "fail", as: "failed", reason: storeError(codecs, error) };
  }
}

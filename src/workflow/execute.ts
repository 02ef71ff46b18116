// Executes one claimed workflow run: replays its journal, continues, then releases the claim with the outcome.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { readRecorded } from "../replay/recorded.js";
import { Replay } from "../replay/replay.js";
import { type SessionOutcome, settlement } from "../replay/settlement.js";
import { MessageTaker } from "../replay/take-messages.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import type { AnyWorkflow } from "./context.js";
import { WorkflowContext } from "./workflow-context.js";

/** How many rounds a session is held while the store is unreachable, before its run is released: some seconds. */
const HELD_ROUNDS = 4;

export function workflowProgram(workflow: AnyWorkflow, environment: ProgramEnvironment): Program {
  const { kind, name, version, queue, limits, breaker, recovery = "resume" } = workflow;
  const facts = { kind, name, version, queue, limits, breaker, recovery };
  return { ...facts, cleansUp: true, execute: (session) => execute(workflow, environment, session) };
}

async function execute(workflow: AnyWorkflow, environment: ProgramEnvironment, session: Session): Promise<void> {
  const { timeoutMs, cleanupMs } = workflow;
  const { historyLimit } = environment;
  const history = await session.history(timeoutMs !== null);
  const replay = new Replay(session, readRecorded(history), { timeoutMs, cleanupMs, historyLimit });
  const outcome = await play(replay, environment, () => begin(workflow, environment, replay));
  // A run that failed may be retried, and then takes its children's results.
  if (outcome.kind === "returned" || outcome.kind === "cancelled" || outcome.kind === "timeout")
    await replay.endChildren();
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
  const mail = new MessageTaker(replay);
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
    await session.holdOut("run", outcome.error, tries, session.over.signal).catch(() => {});
  return { kind: "handBack" };
}

/** A function that throws before its first await, or whose services cannot be created, fails its run like any other. */
async function begin(
  { run, name: program }: AnyWorkflow,
  { codecs, newChild, writes, servicesFor }: ProgramEnvironment,
  replay: Replay,
): Promise<{ body: Promise<unknown> }> {
  try {
    const { runId } = replay.session.run;
    const input = codecs.decode(replay.recorded.start.payload!);
    const services = await servicesFor({ runId, program, input });
    const ctx = new WorkflowContext(replay, { codecs, newChild, writes, services });
    return { body: (async () => run(ctx, input))() };
  } catch (error) {
    return { body: Promise.reject(error) };
  }
}

// Executes one claimed graph run: loads its memory, walks on from its position, then releases the claim.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import { storeError } from "../kernel/codec/stored-error.js";
import { LimitExceeded } from "../kernel/error.js";
import type { Effect } from "../kernel/run/effect.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { readRecorded } from "../replay/recorded.js";
import { Replay } from "../replay/replay.js";
import { misfit, type SessionOutcome, settlement } from "../replay/settlement.js";
import { MessageTaker } from "../replay/take-messages.js";
import { Beginning } from "./beginning.js";
import { AtBreakpoint } from "./breakpoint.js";
import type { AnyGraph } from "./graph-value.js";
import { load } from "./load.js";
import { beginsEffect, type Memory } from "./memory.js";
import { NeedsPeople, StateFailed } from "./needs-people.js";
import { RunStream } from "./node/run-stream.js";
import type { RunParts } from "./node-visit.js";
import { GraphRun } from "./run-graph.js";
import { givenInput } from "./start-input.js";
import { heldEffects } from "./state-update.js";

export function graphProgram(graph: AnyGraph, environment: ProgramEnvironment): Program {
  const { kind, name, version, queue, limits, breaker } = graph;
  return { kind, name, version, queue, limits, breaker, execute: (session) => execute(graph, environment, session) };
}

async function execute(graph: AnyGraph, environment: ProgramEnvironment, session: Session): Promise<void> {
  const { plan } = graph;
  const { codecs } = environment;
  let memory: Memory;
  let beginning: Beginning;
  try {
    const loaded = await load(session, graph, codecs);
    memory = loaded.memory;
    // Awaited: written after an entry of a node, it would undo that node.
    if (loaded.unwritten) await session.commit([beginsEffect(memory, codecs)]);
    if (loaded.unwritten) memory.begun = true;
    beginning = new Beginning(memory, session, codecs);
  } catch (error) {
    const end = endOf(error, environment, session);
    if (!end) throw error;
    await session.commit([end]);
    return;
  }
  const replay = new Replay(session, readRecorded(remembered(memory, session), session.run.baseSeq), {
    timeoutMs: plan.bounds.timeoutMs,
    historyLimit: Number.POSITIVE_INFINITY,
  });
  // Kept before it is sent: a snapshot written after it must contain it.
  const mail = new MessageTaker(replay, (messages) => {
    memory.mail.push(
      ...messages.map(({ name, key, payload, at }) => ({ seq: session.run.seq, name, key, payload, at })),
    );
    return heldEffects(memory, messages, codecs);
  });
  if (mail.isDue) await mail.take();
  const stream = new RunStream(session, codecs);
  try {
    const under = { replay, memory, beginning, stream };
    const outcome = replay.stopped ?? (await replay.run(begin(graph, environment, under), mail));
    if (session.settledAs === null) await session.commit(await settle(outcome, environment, session, beginning));
  } catch (error) {
    // The last node's commit ended the run; messages that arrived meanwhile were too late.
    if (session.settledAs === null) throw error;
  } finally {
    beginning.take(); // too late
  }
}

type Under = Pick<RunParts, "replay" | "memory" | "beginning" | "stream">;

/** The journal entries from which the calls of running nodes resume. */
function remembered({ calls, mail, since }: Memory, { run }: Session) {
  const { epoch, baseSeq } = run;
  const start = { seq: baseSeq + 1, epoch, kind: "start", name: "", key: null, payload: null, at: since };
  const taken = mail.map((message) => ({ ...message, epoch, kind: "take" }));
  return [start, ...[...calls, ...taken].sort((a, b) => a.seq - b.seq)];
}

async function begin(graph: AnyGraph, environment: ProgramEnvironment, under: Under): Promise<unknown> {
  const { codecs, servicesFor } = environment;
  const { runId, input } = under.replay.session.run;
  const services = await servicesFor({ runId, program: graph.name, input: givenInput(codecs.decode(input)) });
  return new GraphRun({ ...under, plan: graph.plan, name: graph.name, codecs, services }).run();
}

async function settle(
  outcome: SessionOutcome,
  environment: ProgramEnvironment,
  session: Session,
  beginning: Beginning,
): Promise<readonly Effect[]> {
  const { codecs } = environment;
  const error = outcome.kind === "threw" ? outcome.error : null;
  // A paused run does not look at its inbox: a cancel that has just come would wait there for its resume.
  if (error instanceof AtBreakpoint && (await session.isAskedToStop())) return [{ kind: "handBack" }];
  // Before the first node, how the run began comes first: the breakpoint is passed by the frame that it enters.
  if (error instanceof AtBreakpoint) return [...beginning.take(), ...error.effects(codecs)];
  const end =
    (error instanceof NeedsPeople ? endOf(error, environment, session) : null) ?? settlement(outcome, codecs, session);
  // A run that ends in its first node is rewound to it: nothing else says that it was there.
  return end.kind === "fail" ? [...beginning.take(), end] : [end];
}

/** The effect that ends a run that cannot continue; null: the cause is outside the run, and it is reclaimed when its lease expires. */
function endOf(error: unknown, { codecs }: ProgramEnvironment, session: Session): Effect | null {
  // An error in `init` is the run's own failure, like an error in a workflow's function.
  if (error instanceof StateFailed && error.by === "init")
    return { kind: "fail", as: "failed", reason: storeError(codecs, error.cause) };
  if (error instanceof NeedsPeople && error.otherCode) return misfit(error, codecs, session);
  // The state of a fork or rewind that cannot be stored could not be found again after a crash.
  if (error instanceof NeedsPeople || error instanceof LimitExceeded)
    return { kind: "fail", as: "quarantined", reason: storeError(codecs, error) };
  return null;
}

// Works on one claimed run of a graph: load what it remembers, walk on from there, then give the claim back.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import { storeError } from "../kernel/codec/stored-error.js";
import { LimitExceeded } from "../kernel/error.js";
import type { Effect } from "../kernel/run/effect.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { readRecorded } from "../replay/recorded.js";
import { type Outcome, Replay } from "../replay/replay.js";
import { messageTaker } from "../replay/take-messages.js";
import { misfit, settlement } from "../workflow/execute.js";
import { Beginning } from "./beginning.js";
import type { AnyGraph } from "./graph-value.js";
import { load } from "./load.js";
import type { Memory } from "./memory.js";
import { NeedsPeople, StateFailed } from "./needs-people.js";
import { GraphRun } from "./run-graph.js";
import type { RunParts } from "./scene.js";
import { beginsEffect } from "./snapshot-effect.js";

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
    const loaded = await load(session, plan, codecs);
    memory = loaded.memory;
    // Awaited: written behind an entry of a node, it would undo it.
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
  // Kept before it is sent: a snapshot that goes out behind it must have it.
  const mail = messageTaker(replay, (messages) => {
    memory.mail.push(
      ...messages.map(({ name, key, payload, at }) => ({ seq: session.run.seq, name, key, payload, at })),
    );
  });
  if (mail.isDue) await mail.take();
  try {
    const outcome =
      replay.stopped ?? (await replay.run(begin(graph, environment, { replay, memory, beginning }), mail));
    if (session.settledAs === null) await session.commit([settle(outcome, environment, session)]);
  } catch (error) {
    // The last node's commit ended the run; what came in meanwhile was too late for it.
    if (session.settledAs === null) throw error;
  } finally {
    beginning.take(); // too late for it
  }
}

type Under = Pick<RunParts, "replay" | "memory" | "beginning">;

/** What the calls of nodes under way go on from. */
function remembered({ calls, mail, since }: Memory, { run }: Session) {
  const { epoch, baseSeq } = run;
  const start = { seq: baseSeq + 1, epoch, kind: "start", name: "", key: null, payload: null, at: since };
  const taken = mail.map((message) => ({ ...message, epoch, kind: "take" }));
  return [start, ...[...calls, ...taken].sort((a, b) => a.seq - b.seq)];
}

async function begin(graph: AnyGraph, environment: ProgramEnvironment, under: Under): Promise<unknown> {
  const { codecs, servicesFor } = environment;
  const { runId, input } = under.replay.session.run;
  const services = await servicesFor({ runId, program: graph.name, input: codecs.decode(input) });
  return new GraphRun({ ...under, plan: graph.plan, codecs, services }).run();
}

function settle(outcome: Outcome, environment: ProgramEnvironment, session: Session): Effect {
  const end =
    outcome.kind === "threw" && outcome.error instanceof NeedsPeople && endOf(outcome.error, environment, session);
  return end || settlement(outcome, environment.codecs, session);
}

/** How a run ends that cannot be gone on with; null: that is not its own doing, and its lease brings it back. */
function endOf(error: unknown, { codecs }: ProgramEnvironment, session: Session): Effect | null {
  // What `init` throws is the run's own failure, as if a workflow's function had thrown it.
  if (error instanceof StateFailed && error.by === "init")
    return { kind: "fail", as: "failed", reason: storeError(codecs, error.cause) };
  if (error instanceof NeedsPeople && error.otherCode) return misfit(error, codecs, session);
  // A state that cannot be written down, of a fork or a rewind, cannot be found again after a crash.
  if (error instanceof NeedsPeople || error instanceof LimitExceeded)
    return { kind: "fail", as: "quarantined", reason: storeError(codecs, error) };
  return null;
}

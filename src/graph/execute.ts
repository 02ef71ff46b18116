// Works on one claimed run of a graph: load what it remembers, walk on from there, then give the claim back.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import { storeError } from "../kernel/stored-error.js";
import type { Household } from "../program/household.js";
import { readRecorded } from "../replay/recorded.js";
import { type Outcome, Replay } from "../replay/replay.js";
import { settlement } from "../workflow/execute.js";
import { messageTaker } from "../workflow/take-messages.js";
import { Beginning } from "./beginning.js";
import type { AnyGraph } from "./graph-value.js";
import { type Loaded, load, PositionUnknown } from "./load.js";
import type { Memory } from "./memory.js";
import { GraphChanged } from "./plan-at.js";
import { GraphRun } from "./run-graph.js";
import type { RunParts } from "./scene.js";
import { snapshotEffect } from "./snapshot-effect.js";

export function graphProgram(graph: AnyGraph, household: Household): Program {
  const { kind, name, version, queue, limits, breaker } = graph;
  return { kind, name, version, queue, limits, breaker, execute: (session) => execute(graph, household, session) };
}

async function execute(graph: AnyGraph, household: Household, session: Session): Promise<void> {
  const { plan } = graph;
  const { codecs } = household;
  let loaded: Loaded;
  try {
    loaded = await load(session, plan, codecs);
  } catch (error) {
    if (!isForPeople(error)) throw error;
    await session.commit([{ kind: "fail", as: "quarantined", reason: storeError(codecs, error) }]);
    return;
  }
  const { memory, unwritten } = loaded;
  const moved = unwritten && snapshotEffect(memory, codecs, "begins");
  // Awaited: written behind an entry of a node, it would undo it.
  if (moved) await session.commit([moved]);
  if (unwritten) memory.begun = true;
  const beginning = new Beginning(memory, session, codecs);
  const replay = new Replay(session, readRecorded(remembered(memory, session), session.run.baseSeq), {
    timeoutMs: plan.bounds.timeoutMs,
    historyLimit: Number.POSITIVE_INFINITY,
  });
  // Kept before it is sent: a snapshot that goes out behind it must have it.
  const takeMessages = messageTaker(replay, (messages) => {
    memory.mail.push(
      ...messages.map(({ name, key, payload, at }) => ({ seq: session.run.seq, name, key, payload, at })),
    );
  });
  await takeMessages();
  try {
    const outcome =
      replay.stopped ?? (await replay.run(begin(graph, household, { replay, memory, beginning }), takeMessages));
    if (session.settledAs === null) await session.commit([settle(outcome, household, session)]);
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

async function begin(graph: AnyGraph, household: Household, under: Under): Promise<unknown> {
  const { codecs, servicesFor } = household;
  const { runId, input } = under.replay.session.run;
  const services = await servicesFor({ runId, program: graph.name, input: codecs.decode(input) });
  return new GraphRun({ ...under, plan: graph.plan, codecs, services }).run();
}

function settle(outcome: Outcome, { codecs }: Household, session: Session) {
  if (outcome.kind === "threw" && isForPeople(outcome.error))
    return { kind: "fail", as: "quarantined", reason: storeError(codecs, outcome.error) } as const;
  return settlement(outcome, codecs, session);
}

/** The graph was changed under the run, or where it should go on is gone: neither is the run's own failure. */
function isForPeople(error: unknown): boolean {
  return error instanceof GraphChanged || error instanceof PositionUnknown;
}

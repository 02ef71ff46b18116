// Walks a graph from its run's position: one node after the other, each recorded before the next one begins.

import { buggify } from "../kernel/buggify.js";
import type { Payload } from "../kernel/codec/payload.js";
import { decodeError, type StoredError } from "../kernel/codec/recorded-error.js";
import type { Effect } from "../kernel/run/effect.js";
import { callId } from "../replay/recorded.js";
import { StepCall, type StepInfo } from "../replay/step-call.js";
import { PermanentError } from "../replay/step-error.js";
import { type AttemptRules, attemptRules } from "./attempt-rules.js";
import { applyBreakpoints, BREAKPOINTS, stopAt } from "./breakpoint.js";
import { leave, type NodeRecord, updatesOf } from "./fold.js";
import { EdgeNotTaken, endsTheRun, exceeded, IterationLimit } from "./limits.js";
import { type Mail, type Memory, snapshotEffect } from "./memory.js";
import { GraphChanged } from "./needs-people.js";
import { asStored } from "./node/as-stored.js";
import { type ThreadValue, threadSpace } from "./node/spaces.js";
import type { Keeping, NodeVisit, RunParts, Walker } from "./node-visit.js";
import { type AnyNode, type EdgeValue, type GraphPlan, own } from "./plan.js";
import {
  END,
  frameId,
  type NodePlace,
  type Position,
  parsePosition,
  placeIn,
  positionOf,
  positionsIn,
  ROOT,
  stepOf,
} from "./position.js";
import { combined, type Fields, isReduced, reduced } from "./reducer.js";
import { runNode, throwFirst } from "./run-node.js";
import { Spending } from "./spending.js";
import { applyUpdates, isAtGate, isInProgress, STATE_UPDATE } from "./state-update.js";
import { Together } from "./together.js";

const NOTHING: readonly Effect[] = [];
const ONCE = attemptRules({ retry: 1 });

/** How a node is visited next to others of its step. */
interface Beside {
  readonly alone: boolean;
  /** How many of the step come before it. */
  readonly before: number;
}

export class GraphRun implements Walker {
  readonly parts: RunParts;
  readonly #together: Together;

  constructor(parts: RunParts) {
    this.parts = parts;
    this.#together = new Together(parts.memory, parts.codecs);
  }

  async run(): Promise<unknown> {
    const { plan, memory } = this.parts;
    const last = await this.walk(ROOT, plan, true);
    const output = plan.output(last);
    if (memory.thread === null) return output;
    // A result that cannot be stored fails the run, which then leaves its thread as it was.
    this.parts.codecs.encode(output, "result");
    await this.#keepThread(memory.thread, last);
    return output;
  }

  /**
   * The next run of the thread begins with this state. One that was asked to stop ends, and keeps it, after its resume. A run that
   * failed or was quarantined, and ends after a later run of its thread, keeps nothing: it does not know what that one added.
   */
  async #keepThread(key: string, state: Fields): Promise<void> {
    const { replay, codecs, name, memory } = this.parts;
    const { session, gate } = replay;
    if (gate.isClosed) return;
    const kept = await session.keptValue(threadSpace(name), key);
    const by = kept ? (codecs.decode(kept.value) as ThreadValue).run : null;
    if (by !== null && by !== memory.threadFrom && by !== session.run.runId) return;
    const value = codecs.encode({ state, run: session.run.runId } satisfies ThreadValue, "state of the thread");
    await session.transaction(async (tx) => {
      await session.keep([{ space: threadSpace(name), key, value, ttlMs: null }], tx);
      return [{ kind: "append", entry: { kind: "thread", name: key } }];
    });
  }

  /** From the frame's position to its end. */
  async walk(place: NodePlace, plan: GraphPlan, alone: boolean): Promise<Fields> {
    const { memory } = this.parts;
    for (;;) {
      if (memory.problem) throw memory.problem;
      if (memory.mail.length > 0) await this.#applyMail(place, plan);
      const frame = memory.frames.get(frameId(place))!;
      const stop = stopAt(memory, place, frame);
      if (stop) throw stop;
      if (frame.at === END) {
        this.#expectWithinBudgets();
        return frame.state;
      }
      if (place === ROOT && !isAtGate(memory, plan)) memory.busyAt = frame.at;
      const step = positionsIn(frame.at);
      if (step.length === 1) await this.#visit(place, plan, step[0]!, { alone, before: 0 });
      else {
        const visits = step.map((at, i) => this.#visit(place, plan, at, { alone: false, before: i }));
        throwFirst(await Promise.allSettled(visits));
      }
    }
  }

  /** What others sent that counts between two nodes. */
  async #applyMail(place: NodePlace, plan: GraphPlan): Promise<void> {
    const { memory, codecs, replay, beginning } = this.parts;
    const takesUpdates = place === ROOT && !isInProgress(memory, plan);
    const isDue = ({ name }: Mail) => name === BREAKPOINTS || (takesUpdates && name === STATE_UPDATE);
    if (!memory.mail.some(isDue)) return;
    beginning.write();
    await applyBreakpoints(memory, replay.session, codecs);
    if (takesUpdates) await applyUpdates({ memory, plan, codecs, session: replay.session });
  }

  /** One node of a frame's step. All see the state with which the step began. */
  async #visit(place: NodePlace, plan: GraphPlan, position: Position, { alone, before }: Beside): Promise<void> {
    const { memory, codecs } = this.parts;
    const frame = memory.frames.get(frameId(place))!;
    const { node, visit } = parsePosition(position);
    const here = placeIn(place, node, visit);
    const isStep = frame.at !== position;
    const done = memory.results.get(frameId(here));
    if (isStep && done && "value" in done) return;
    const spec = own(plan.nodes, node, here.path);
    this.#expectWithinLimits(plan, { all: frame.visited + before, own: frame.moves + before }, here);
    const { state, failures, visits } = frame;
    const edge = plan.edges[node]!;
    const target = (name: string): Position => (name === END ? END : positionOf(name, (visits[name] ?? 0) + 1));
    const leading = (record: NodeRecord, names: readonly string[]): NodeRecord => {
      const next = stepOf(names.map(target));
      nodeVisit.isLast = next === END && place === ROOT;
      const end = { ...record, next, ...(isStep && { step: frame.at }) };
      if (isStep) this.#together.expect(place, plan.reducers, { place: here, record: end });
      return end;
    };
    const finish: NodeVisit["finish"] = (record, goto, attempt) => {
      if (attempt && this.#together.isDropped(here, attempt)) return record;
      let after = state;
      // Before it is recorded: an update that a reducer rejects fails this node, not every later replay of the
      // journal.
      const chooses = edge.choose !== null && goto === undefined;
      const looks = chooses || record.gather || isReduced(plan.reducers, record.update);
      // What items and branches have recorded is frozen in the fold; what a function has returned is its own.
      const tried = record.gather || !looks ? record : asStored(codecs, record);
      const updates = looks ? updatesOf(memory, here, tried ?? record) : [];
      const take = tried ? reduced : combined;
      for (const update of updates) after = take(plan.reducers, after, update);
      return leading(record, goto ?? chosenBy(node, edge, after));
    };
    const { failed } = edge;
    const rescue = (error: StoredError) => {
      if (failed === null || endsTheRun(error)) return undefined;
      try {
        return leading({ failure: error }, [failed]);
      } catch {
        return undefined; // without its update, those of the others do not fit together either
      }
    };
    const targets = new Set([...Object.keys(plan.nodes), END]);
    const failure = failures && Object.hasOwn(failures, node) ? failures[node]! : null;
    const nodeVisit: NodeVisit = { place: here, state, failure, finish, rescue, targets, alone, isLast: false };
    try {
      leave(memory, this.parts.plan, here, await this.node(spec, nodeVisit));
    } finally {
      this.#together.forget(here);
    }
  }

  /** Runs a node to its end; recorded results are not repeated. */
  async node(spec: AnyNode, nodeVisit: NodeVisit): Promise<NodeRecord> {
    const { memory } = this.parts;
    const id = frameId(nodeVisit.place);
    const done = memory.results.get(id);
    if (done && "error" in done) throw decodeError(done.error);
    if (done) return done.value as NodeRecord;
    if (spec.kind !== "subgraph" && memory.frames.has(id)) throw new GraphChanged(nodeVisit.place.path);
    return runNode(this, spec, nodeVisit);
  }

  /** Records the end of a node that does no work itself: its branches or items did, or a person decided. */
  close(nodeVisit: NodeVisit, record: () => NodeRecord): Promise<NodeRecord> {
    return this.call("node", nodeVisit, ONCE, () => nodeVisit.finish(record()));
  }

  /** One durable call: attempts, back-off, timeout, and its result in the journal. */
  call<T>(
    kind: "node" | "item",
    nodeVisit: NodeVisit,
    rules: AttemptRules & { readonly failures?: number | undefined },
    work: (info: StepInfo, spending: Spending, keeping: Keeping) => T | Promise<T>,
  ): Promise<T> {
    const { replay, codecs, memory, plan, beginning } = this.parts;
    const { path, visit } = nodeVisit.place;
    const spending = new Spending(memory, plan.bounds);
    const keeping: Keeping = { values: [] };
    const called = new Promise<T>((resolve, reject) => {
      const call = new StepCall({
        kind,
        id: callId(kind, path, visit),
        name: path,
        key: visit,
        ...rules,
        ...(nodeVisit.rescue && kind === "node" && { rescue: nodeVisit.rescue }),
        work: (info) => {
          keeping.values = [];
          if (kind === "node") this.#together.begin(nodeVisit.place, info);
          return work(info, spending, keeping);
        },
        ahead: () => beginning.take(),
        along: (written, payload) => {
          // Each attempt reports its progress from the start; an earlier attempt's is forgotten, here as in the fold.
          if (written.endsWith(".tried")) memory.progressCounts.delete(frameId(nodeVisit.place));
          if (written === "node.tried") this.#together.forget(nodeVisit.place);
          const spent = spending.effects(nodeVisit.place, codecs);
          const more = written === "node" ? this.#afterwards(nodeVisit, payload, keeping) : NOTHING;
          return more.length === 0 ? spent : [...spent, ...more];
        },
        together: (written) => {
          const { values } = keeping;
          if (written !== kind || values.length === 0) return null;
          return (tx) => replay.session.keep(values, tx);
        },
        replay,
        codecs,
        resolve: resolve as (value: never) => void,
        reject,
      });
      replay.ask(call);
    });
    called.catch(() => {}); // a rejection that is not awaited yet must not end the process
    return called;
  }

  /** Further effects in the commit in which a frame moves on: the end of the run, or a snapshot. */
  #afterwards(nodeVisit: NodeVisit, payload: Payload, { values }: Keeping): readonly Effect[] {
    const { memory, plan, codecs, replay } = this.parts;
    const since = memory.iterations + 1 - memory.written;
    const isDue =
      nodeVisit.alone && (since >= plan.snapshotEvery || buggify(replay.session.world, "graph.snapshot-now"));
    if (!nodeVisit.isLast && !isDue) return NOTHING;
    const after = memory.clone();
    leave(after, plan, nodeVisit.place, codecs.decode(payload) as NodeRecord);
    if (after.problem) return NOTHING;
    const root = after.frames.get("")!;
    // A run that was asked to stop, or stops at a breakpoint, does not complete: it ends after its resume.
    const isStopped = exceeded(plan.bounds, after.spent) || replay.gate.isClosed || stopAt(after, ROOT, root);
    // An update that came during the last node counts before the end.
    const isHeld = isStopped || after.mail.some(({ name }) => name === STATE_UPDATE);
    // What is kept is written in a transaction, which does not release the claim.
    const isApart = values.length > 0 || memory.thread !== null;
    if (nodeVisit.isLast && root.at === END) return isHeld || isApart ? NOTHING : this.#completion(after);
    const effect = after.isQuiet ? snapshotEffect(after, codecs) : null;
    if (effect) memory.written = after.iterations;
    return effect ? [effect] : [];
  }

  /** Empty when the result cannot be computed or stored: the run then fails with that error, after this commit. */
  #completion(after: Memory): readonly Effect[] {
    const { plan, codecs } = this.parts;
    try {
      return [{ kind: "complete", output: codecs.encode(plan.output(after.frames.get("")!.state), "result") }];
    } catch {
      return [];
    }
  }

  /** Visits of the whole run and of this graph in it that began before this one. */
  #expectWithinLimits(plan: GraphPlan, { all, own }: { all: number; own: number }, { path, visit }: NodePlace): void {
    const { bounds } = this.parts.plan;
    const next = `${path}:${visit}`;
    if (all >= bounds.iterations) throw new IterationLimit(bounds.iterations, next);
    if (own >= plan.bounds.iterations) throw new IterationLimit(plan.bounds.iterations, next);
    this.#expectWithinBudgets();
  }

  /** Also after the last node: a run that has caught the error still exceeds its budget. */
  #expectWithinBudgets(): void {
    const { memory, plan } = this.parts;
    const over = exceeded(plan.bounds, memory.spent);
    if (over) throw over;
  }
}

function chosenBy(node: string, { to, choose }: EdgeValue, state: Fields): readonly string[] {
  if (!choose) return to;
  let chosen: unknown;
  try {
    chosen = choose(state);
  } catch (error) {
    throw new PermanentError(`The \`choose\` of the edge from ${JSON.stringify(node)} threw.`, { cause: error });
  }
  const names: readonly unknown[] = Array.isArray(chosen) ? chosen : [chosen];
  if (names.length > 0 && names.every((name) => typeof name === "string" && to.includes(name)))
    return names as readonly string[];
  throw new EdgeNotTaken(node, chosen, to);
}

// Walks a graph from its run's position: one node after the other, each recorded before the next one begins.

import type { Payload } from "../kernel/codec/payload.js";
import { decodeError, type StoredError } from "../kernel/codec/recorded-error.js";
import type { Effect } from "../kernel/run/effect.js";
import { callId } from "../replay/recorded.js";
import { PermanentError, StepCall, type StepInfo } from "../replay/step-call.js";
import { type AttemptRules, attemptRules } from "./attempt-rules.js";
import { leave, type NodeRecord, updatesOf } from "./fold.js";
import { EdgeNotTaken, endsTheRun, exceeded, IterationLimit } from "./limits.js";
import { type Memory, snapshotEffect } from "./memory.js";
import { GraphChanged } from "./needs-people.js";
import type { NodeVisit, RunParts, Walker } from "./node-visit.js";
import { type AnyNode, type EdgeValue, type GraphPlan, own } from "./plan.js";
import { END, frameId, type NodePlace, type Position, parsePosition, placeIn, positionOf, ROOT } from "./position.js";
import { combined, type Fields, isReduced } from "./reducer.js";
import { runNode } from "./run-node.js";
import { Spending } from "./spending.js";
import { applyUpdates, STATE_UPDATE } from "./state-update.js";

const NOTHING: readonly Effect[] = [];
const ONCE = attemptRules({ retry: 1 });

export class GraphRun implements Walker {
  readonly parts: RunParts;

  constructor(parts: RunParts) {
    this.parts = parts;
  }

  async run(): Promise<unknown> {
    const { plan } = this.parts;
    return plan.output(await this.walk(ROOT, plan, true));
  }

  /** From the frame's position to its end. */
  async walk(place: NodePlace, plan: GraphPlan, alone: boolean): Promise<Fields> {
    const { memory, codecs, replay, beginning } = this.parts;
    for (;;) {
      if (place === ROOT && memory.mail.some(({ name }) => name === STATE_UPDATE)) {
        beginning.write();
        await applyUpdates(memory, plan, codecs, replay.session);
      }
      const frame = memory.frames.get(frameId(place))!;
      if (frame.at === END) {
        this.#expectWithinBudgets();
        return frame.state;
      }
      const { node, visit } = parsePosition(frame.at);
      const here = placeIn(place, node, visit);
      const spec = own(plan.nodes, node, here.path);
      this.#expectWithinLimits(plan, frame.moves, here);
      const { state, failure, visits } = frame;
      const edge = plan.edges[node]!;
      const target = (name: string): Position => (name === END ? END : positionOf(name, (visits[name] ?? 0) + 1));
      const leading = (record: NodeRecord, name: string): NodeRecord => {
        nodeVisit.isLast = name === END && place === ROOT;
        return { ...record, next: target(name) };
      };
      const finish = (record: NodeRecord, goto?: string): NodeRecord => {
        let after = state;
        // Before it is recorded: an update that a reducer rejects fails this node, not every later replay of the
        // journal.
        const chooses = edge.choose !== null && goto === undefined;
        const looks = chooses || record.gather || isReduced(plan.reducers, record.update);
        const updates = looks ? updatesOf(memory, here, record) : [];
        for (const update of updates) after = combined(plan.reducers, after, update);
        return leading(record, goto ?? targetOf(node, edge, after));
      };
      const { failed } = edge;
      const rescue = (error: StoredError) =>
        failed === null || endsTheRun(error) ? undefined : leading({ failure: error }, failed);
      const targets = new Set([...Object.keys(plan.nodes), END]);
      const nodeVisit: NodeVisit = { place: here, state, failure, finish, rescue, targets, alone, isLast: false };
      const record = await this.node(spec, nodeVisit);
      leave(memory, this.parts.plan, here, record);
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
    rules: AttemptRules,
    work: (info: StepInfo, spending: Spending) => T | Promise<T>,
  ): Promise<T> {
    const { replay, codecs, memory, plan, beginning } = this.parts;
    const { path, visit } = nodeVisit.place;
    const spending = new Spending(memory, plan.bounds);
    const called = new Promise<T>((resolve, reject) => {
      const call = new StepCall({
        kind,
        id: callId(kind, path, visit),
        name: path,
        key: visit,
        ...rules,
        ...(nodeVisit.rescue && kind === "node" && { rescue: nodeVisit.rescue }),
        work: (info) => work(info, spending),
        ahead: () => beginning.take(),
        along: (written, payload) => {
          // Each attempt reports its progress from the start; an earlier attempt's is forgotten, here as in the fold.
          if (written.endsWith(".tried")) memory.progressCounts.delete(frameId(nodeVisit.place));
          const spent = spending.effects(nodeVisit.place, codecs);
          const more = written === "node" ? this.#afterwards(nodeVisit, payload) : NOTHING;
          return more.length === 0 ? spent : [...spent, ...more];
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
  #afterwards(nodeVisit: NodeVisit, payload: Payload): readonly Effect[] {
    const { memory, plan, codecs, replay } = this.parts;
    const isDue = nodeVisit.alone && memory.iterations + 1 - memory.written >= plan.snapshotEvery;
    if (!nodeVisit.isLast && !isDue) return NOTHING;
    const after = memory.clone();
    leave(after, plan, nodeVisit.place, codecs.decode(payload) as NodeRecord);
    // A run that was asked to stop does not complete: it ends after its resume.
    if (nodeVisit.isLast)
      return exceeded(plan.bounds, after.spent) || replay.gate.isClosed ? NOTHING : this.#completion(after);
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

  #expectWithinLimits(plan: GraphPlan, moves: number, { path, visit }: NodePlace): void {
    const { memory } = this.parts;
    const { bounds } = this.parts.plan;
    const next = `${path}:${visit}`;
    if (memory.iterations >= bounds.iterations) throw new IterationLimit(bounds.iterations, next);
    if (moves >= plan.bounds.iterations) throw new IterationLimit(plan.bounds.iterations, next);
    this.#expectWithinBudgets();
  }

  /** Also after the last node: a run that has caught the error still exceeds its budget. */
  #expectWithinBudgets(): void {
    const { memory, plan } = this.parts;
    const over = exceeded(plan.bounds, memory.spent);
    if (over) throw over;
  }
}

function targetOf(node: string, { to, choose }: EdgeValue, state: Fields): string {
  if (!choose) return to[0]!;
  let chosen: unknown;
  try {
    chosen = choose(state);
  } catch (error) {
    throw new PermanentError(`The \`choose\` of the edge from ${JSON.stringify(node)} threw.`, { cause: error });
  }
  if (typeof chosen === "string" && to.includes(chosen)) return chosen;
  throw new EdgeNotTaken(node, chosen, to);
}

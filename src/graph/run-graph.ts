// Walks through a graph from where its run is: one node after the other, each recorded before the next one begins.

import type { AppendEffect } from "../kernel/effect.js";
import type { Payload } from "../kernel/payload.js";
import { decodeError, type StoredError } from "../kernel/recorded-error.js";
import { retryPolicy } from "../kernel/retry.js";
import { callId } from "../replay/recorded.js";
import { PermanentError, StepCall, type StepInfo } from "../workflow/step-call.js";
import { leave, type NodeRecord, updatesOf } from "./fold.js";
import { frozen } from "./frozen.js";
import { EdgeNotTaken, endsTheRun, exceeded, IterationLimit } from "./limits.js";
import type { AnyNode, EdgeValue, GraphPlan, NodeOptions } from "./plan.js";
import { own } from "./plan-at.js";
import { END, frameId, type Place, type Position, parsePosition, placeIn, positionOf, ROOT } from "./position.js";
import { type Fields, reduced } from "./reducer.js";
import { runNode } from "./run-node.js";
import type { RunParts, Scene, Walker } from "./scene.js";
import { snapshotEffect } from "./snapshot-effect.js";
import { Spending } from "./spending.js";
import { stepRules } from "./step-rules.js";

export class GraphRun implements Walker {
  readonly parts: RunParts;

  constructor(parts: RunParts) {
    this.parts = parts;
  }

  async run(): Promise<unknown> {
    const { plan } = this.parts;
    return plan.output(await this.walk(ROOT, plan, true));
  }

  /** From where the frame is to its end. */
  async walk(place: Place, plan: GraphPlan, alone: boolean): Promise<Fields> {
    const { memory } = this.parts;
    for (;;) {
      const frame = memory.frames.get(frameId(place))!;
      if (frame.at === END) return frame.state;
      const { node, visit } = parsePosition(frame.at);
      const here = placeIn(place, node, visit);
      const spec = own(plan.nodes, node, here.path);
      this.#expectWithinLimits(plan, frame.moves, here);
      const { state, failure, visits } = frame;
      const edge = plan.edges[node]!;
      const target = (name: string): Position => (name === END ? END : positionOf(name, (visits[name] ?? 0) + 1));
      const finish = (record: NodeRecord): NodeRecord => {
        let after = state;
        for (const update of updatesOf(memory, here, record)) after = reduced(plan.reducers, after, frozen(update));
        return { ...record, next: target(targetOf(node, edge, after)) };
      };
      const { failed } = edge;
      const rescue = (error: StoredError) =>
        failed === null || endsTheRun(error) ? undefined : { failure: error, next: target(failed) };
      const record = await this.node(spec, { place: here, state, failure, finish, rescue, alone });
      leave(memory, this.parts.plan, here, frozen(record));
    }
  }

  /** Runs a node to its end; what came of it before is not done again. */
  async node(spec: AnyNode, scene: Scene): Promise<NodeRecord> {
    const done = this.parts.memory.results.get(frameId(scene.place));
    if (done && "error" in done) throw decodeError(done.error);
    if (done) return done.value as NodeRecord;
    return runNode(this, spec, scene);
  }

  /** Records the end of a node that does no work itself: its branches, items or its person did. */
  close(scene: Scene, record: () => NodeRecord): Promise<NodeRecord> {
    return this.call("node", scene, { retry: 1 }, () => scene.finish(record()));
  }

  /** One durable call: attempts, back-off, timeout, and its result in the journal. */
  call<T>(
    kind: "node" | "item",
    scene: Scene,
    options: NodeOptions,
    work: (info: StepInfo, spending: Spending) => T | Promise<T>,
  ): Promise<T> {
    const { replay, codecs, memory, plan } = this.parts;
    const { path, visit } = scene.place;
    const spending = new Spending(memory, plan.bounds);
    const called = new Promise<T>((resolve, reject) => {
      const call = new StepCall({
        kind,
        id: callId(kind, path, visit),
        name: path,
        key: visit,
        policy: retryPolicy(options.retry),
        ...stepRules(options, path),
        ...(scene.rescue && kind === "node" && { rescue: scene.rescue }),
        work: (info) => work(info, spending),
        along: (written, payload) => [
          ...spending.effects(scene.place, codecs),
          ...this.#snapshot(scene, written, payload),
        ],
        replay,
        codecs,
        resolve: resolve as (value: never) => void,
        reject,
      });
      replay.ask(call);
    });
    called.catch(() => {}); // a failure that is not awaited yet must not end the process
    return called;
  }

  /** In the commit of a node that its frame moves on with. */
  #snapshot(scene: Scene, kind: string, payload: Payload): readonly AppendEffect[] {
    const { memory, plan, codecs } = this.parts;
    if (kind !== "node" || !scene.alone) return [];
    if (memory.iterations + 1 - memory.written < plan.snapshotEvery) return [];
    const after = memory.clone();
    leave(after, plan, scene.place, frozen(codecs.decode(payload) as NodeRecord));
    const effect = after.isQuiet ? snapshotEffect(after, codecs) : null;
    if (effect) memory.written = after.iterations;
    return effect ? [effect] : [];
  }

  #expectWithinLimits(plan: GraphPlan, moves: number, { path, visit }: Place): void {
    const { memory } = this.parts;
    const { bounds } = this.parts.plan;
    const next = `${path}:${visit}`;
    if (memory.iterations >= bounds.iterations) throw new IterationLimit(bounds.iterations, next);
    if (moves >= plan.bounds.iterations) throw new IterationLimit(plan.bounds.iterations, next);
    const over = exceeded(bounds, memory.spent);
    if (over) throw over;
  }
}

function targetOf(node: string, { to, choose }: EdgeValue, state: Fields): string {
  if (!choose) return to[0]!;
  let chosen: unknown;
  try {
    chosen = choose(state);
  } catch (error) {
    throw new PermanentError(`The edge of ${JSON.stringify(node)} could not choose.`, { cause: error });
  }
  if (typeof chosen === "string" && to.includes(chosen)) return chosen;
  throw new EdgeNotTaken(node, chosen, to);
}

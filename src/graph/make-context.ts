// Creates the context of a node's function.

import { decodeError } from "../kernel/codec/recorded-error.js";
import type { StepInfo } from "../replay/step-call.js";
import { countProgress } from "./fold.js";
import type { ItemContext, NodeContext } from "./node-context.js";
import type { NodeVisit, Walker } from "./node-visit.js";
import { frameId } from "./position.js";
import type { Spending } from "./spending.js";

export function nodeContext(run: Walker, nodeVisit: NodeVisit, info: StepInfo, spending: Spending): NodeContext {
  return new Attending(run, nodeVisit, info, spending);
}

export function itemContext(context: NodeContext, index: number): ItemContext {
  return Object.assign(context, { index });
}

class Attending implements NodeContext {
  readonly #run: Walker;
  readonly #nodeVisit: NodeVisit;
  readonly #info: StepInfo;
  readonly #spending: Spending;
  #told = 0;

  constructor(run: Walker, nodeVisit: NodeVisit, info: StepInfo, spending: Spending) {
    this.#run = run;
    this.#nodeVisit = nodeVisit;
    this.#info = info;
    this.#spending = spending;
  }

  get idempotencyKey() {
    return this.#info.idempotencyKey;
  }
  get fence() {
    return this.#info.fence;
  }
  get attempt() {
    return this.#info.attempt;
  }
  /** A getter, so that a signal is created only if it is used. */
  get signal() {
    return this.#info.signal;
  }
  get runId() {
    return this.#run.parts.replay.session.run.runId;
  }
  get node() {
    return this.#nodeVisit.place.path;
  }
  get visit() {
    return this.#nodeVisit.place.visit;
  }
  get services() {
    return this.#run.parts.services;
  }
  get failure() {
    const { failure } = this.#nodeVisit;
    return failure && { node: failure.node, error: decodeError(failure.error) };
  }

  spend(budget: string, amount: number): void {
    this.#spending.spend(budget, amount);
  }

  /**
   * Progress reported before a crash is not written again: each entry counts as progress of the run, and a node that
   * kills its process would never reach the crash limit.
   */
  async progress(value: unknown): Promise<void> {
    const { memory, replay, codecs } = this.#run.parts;
    const { path, visit } = this.#nodeVisit.place;
    replay.throwIfOver();
    const id = frameId(this.#nodeVisit.place);
    this.#told++;
    if (this.#told <= (memory.progressCounts.get(id) ?? 0)) return;
    const payload = codecs.encode(value, `progress of ${path}`);
    countProgress(memory, id);
    await replay.session.commit([
      ...this.#run.parts.beginning.take(),
      { kind: "append", entry: { kind: "progress", name: path, key: `${visit}:${this.#told}`, payload } },
      ...this.#spending.effects(this.#nodeVisit.place, codecs),
    ]);
  }
}

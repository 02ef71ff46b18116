// Follows nodes that run side by side through a journal, without the graph's code: their frame moves on with the last of them.

import type { NodeRecord } from "./fold.js";
import { frameId, type NodePlace, type Position, positionsIn, standingAt, stepOf } from "./position.js";

export class FanOuts {
  /** By frame and step: where its ended nodes lead. */
  readonly #ended = new Map<string, Map<Position, Position>>();

  /** Where the frame moves with this entry of a node; null: it does not, because others of its step still run, or it is a branch. */
  moved(place: NodePlace, { next, step }: NodeRecord): Position | null {
    if (next === undefined || step === undefined) return next ?? null;
    const { frame, position } = standingAt(place);
    const id = `${frameId(frame)} ${step}`;
    const ended = this.#ended.get(id) ?? new Map<Position, Position>();
    this.#ended.set(id, ended.set(position, next));
    const nodes = positionsIn(step);
    if (!nodes.every((one) => ended.has(one))) return null;
    this.#ended.delete(id);
    return stepOf(nodes.map((one) => ended.get(one)!));
  }
}

// Nodes that run side by side end one by one, and their updates count together. The last one to end is charged when the reducers do not
// take all of them: once recorded, the journal could not be folded any more.

import type { Codecs } from "../kernel/codec/codecs.js";
import { PermanentError } from "../replay/step-error.js";
import { type Ended, type NodeRecord, updatesOf } from "./fold.js";
import type { Memory } from "./memory.js";
import { asStored } from "./node/as-stored.js";
import { frameId, type NodePlace, placesIn } from "./position.js";
import { type Fields, type Reducers, reduced } from "./reducer.js";

export class Together {
  readonly #memory: Memory;
  readonly #codecs: Codecs;
  /** What nodes have returned that is not recorded yet, as it will be read from the journal. Another node may end meanwhile. */
  readonly #ending = new Map<string, NodeRecord>();
  /** The attempt of each node whose result counts: one that has timed out may still return. */
  readonly #attempts = new Map<string, object>();

  constructor(memory: Memory, codecs: Codecs) {
    this.#memory = memory;
    this.#codecs = codecs;
  }

  begin(place: NodePlace, attempt: object): void {
    this.forget(place);
    this.#attempts.set(frameId(place), attempt);
  }

  /** Its result does not count: another attempt has begun, or is to begin. */
  isDropped(place: NodePlace, attempt: object): boolean {
    return this.#attempts.get(frameId(place)) !== attempt;
  }

  /** Before a node of a frame's step is recorded. */
  expect(frame: NodePlace, reducers: Reducers, { place, record }: Ended): void {
    const { state, at } = this.#memory.frames.get(frameId(frame))!;
    const stored = asStored(this.#codecs, record);
    if (!stored) return;
    this.#ending.set(frameId(place), stored);
    const places = placesIn(frame, at);
    const ended = this.#endedOf(places);
    if (ended.length < places.length) return;
    try {
      this.#combine(reducers, state, ended);
    } catch (cause) {
      this.forget(place);
      throw new PermanentError(`The reducers do not take the updates of ${at} together.`, { cause });
    }
  }

  /** Frozen between two updates, as in the fold: a reducer that changes its old value in place is noticed before anything is recorded. */
  #combine(reducers: Reducers, state: Fields, ended: readonly Ended[]): void {
    const updates = ended.flatMap(({ place, record }) => updatesOf(this.#memory, place, record));
    updates.reduce((now, update) => reduced(reducers, now, update), state);
  }

  #endedOf(places: readonly NodePlace[]): readonly Ended[] {
    return places.flatMap((place) => {
      const record = this.#recordOf(place);
      return record ? [{ place, record }] : [];
    });
  }

  forget(place: NodePlace): void {
    this.#ending.delete(frameId(place));
    this.#attempts.delete(frameId(place));
  }

  #recordOf(place: NodePlace): NodeRecord | undefined {
    const done = this.#memory.results.get(frameId(place));
    return done && "value" in done ? (done.value as NodeRecord) : this.#ending.get(frameId(place));
  }
}

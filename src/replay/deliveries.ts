// The endings of calls that the function has not received yet, in journal order.

import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Call } from "./call.js";
import type { Ending } from "./recorded.js";

/** The call that an ending belongs to: null when it has ended already, undefined when it was not made yet. */
export type CallOf = (ending: Ending) => Call | null | undefined;

/** The next ending and its call; no call: the cancellation of the run. */
export interface Delivery {
  readonly ending: Ending;
  readonly call: Call | null;
}

export class Deliveries {
  readonly #left: Set<Ending>;

  constructor(recorded: readonly Ending[]) {
    this.#left = new Set(recorded);
  }

  get size(): number {
    return this.#left.size;
  }

  has(id: string): boolean {
    return [...this.#left].some((ending) => ending.id === id);
  }

  /** Writers in one batch resume in any order; the function receives endings in journal order. */
  keep(ending: Ending): void {
    if (this.#left.size === 0) return void this.#left.add(ending);
    const later = [...this.#left].filter(({ entry }) => entry.seq > ending.entry.seq);
    for (const one of later) this.#left.delete(one);
    for (const one of [ending, ...later]) this.#left.add(one);
  }

  delete(ending: Ending): void {
    this.#left.delete(ending);
  }

  /**
   * The first ending whose call is open. An ending whose call has ended another way (a race with its timeout) is
   * dropped. A cancellation waits until every ending before it was received: it ends all calls that are open there.
   */
  next(callOf: CallOf, isOpen: (call: Call) => boolean): Delivery | null {
    let isAwaited = false;
    for (const ending of this.#left) {
      if (ending.entry.kind === "cancelling") return isAwaited ? null : { ending, call: null };
      const call = callOf(ending);
      if (call === undefined) isAwaited ||= ending.entry.kind !== "take";
      else if (call && isOpen(call)) return { ending, call };
      else this.#left.delete(ending);
    }
    return null;
  }

  /** What is recorded and was not asked for. A message may wait for its call. */
  get missing(): readonly JournalEntry[] {
    return [...this.#left].map(({ entry }) => entry).filter(({ kind }) => kind !== "take");
  }

  /** The keys of signals that no call has received. */
  get signals(): readonly string[] {
    return [...this.#left].flatMap(({ id, entry }) => (id === null && entry.kind === "take" ? entry.key! : []));
  }
}

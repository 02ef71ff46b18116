// The slots of a node: as many runs are worked on at once; those claimed ahead wait here for one.

import type { Session } from "./session.js";

export class Slots {
  #free: number;
  #told = deferred();

  constructor(count: number) {
    this.#free = count;
  }

  /** True when there is a slot; false when the node stops first. Rejects when the claim is lost meanwhile. */
  async take(session: Session): Promise<boolean> {
    while (this.#free === 0 && !session.stopping && !session.signal.aborted) {
      await Promise.race([this.#told.promise, session.changed()]);
    }
    session.signal.throwIfAborted();
    if (session.stopping) return false;
    this.#free--;
    return true;
  }

  /** Whoever has waited longest wakes first and takes it. */
  give(): void {
    this.#free++;
    this.#told.resolve();
    this.#told = deferred();
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

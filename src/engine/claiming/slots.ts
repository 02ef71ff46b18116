// The slots of an executor: how many runs it executes at once. Runs that were claimed ahead wait here for one.

import type { Session } from "../session.js";

export class Slots {
  #free: number;
  #told = deferred();

  constructor(count: number) {
    this.#free = count;
  }

  /**
   * `none`: the node stops first. `stop`: its run was asked to stop, and is let through for that. Rejects when the claim is lost
   * meanwhile.
   */
  async take(session: Session): Promise<"slot" | "none" | "stop"> {
    let calls = 0;
    while (this.#free === 0 && !session.stopping && !session.signal.aborted) {
      await Promise.race([this.#told.promise, session.changed()]);
      if (session.newsCount === calls) continue;
      calls = session.newsCount;
      if (await session.isAskedToStop()) return "stop";
    }
    session.signal.throwIfAborted();
    if (session.stopping) return "none";
    this.#free--;
    return "slot";
  }

  /** The session that has waited longest wakes first and takes it. */
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

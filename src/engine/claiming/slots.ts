// The slots of an executor: how many runs it executes at once. Runs that were claimed ahead wait in line for one.

import type { Session } from "../session.js";

export type Turn = "slot" | "none" | "stop";

interface Place {
  granted: boolean;
  wake: () => void;
}

export class Slots {
  readonly #count: number;
  #free: number;
  /** In the order of arrival. */
  readonly #line = new Set<Place>();

  constructor(count: number) {
    this.#count = count;
    this.#free = count;
  }

  get busy(): number {
    return this.#count - this.#free;
  }

  /** Null: it has to wait in line. */
  takeNow(session: Session): Turn | null {
    session.lost.throwIfAborted();
    if (session.stopping) return "none";
    if (this.#free === 0) return null;
    this.#free--;
    return "slot";
  }

  /**
   * `none`: the node stops first. `stop`: its run was asked to stop, and is let through for that. Rejects when the claim is lost
   * meanwhile.
   */
  async take(session: Session): Promise<Turn> {
    const place: Place = { granted: false, wake: () => {} };
    session.onChange(() => place.wake());
    let calls = 0;
    this.#line.add(place);
    try {
      for (;;) {
        session.lost.throwIfAborted();
        if (session.stopping) return "none";
        if (place.granted) {
          place.granted = false;
          return "slot";
        }
        if (session.newsCount !== calls) {
          calls = session.newsCount;
          if (await session.isAskedToStop()) return "stop";
        } else {
          await new Promise<void>((resolve) => {
            place.wake = resolve;
          });
        }
      }
    } finally {
      this.#line.delete(place);
      if (place.granted) this.give();
    }
  }

  /** The session that has waited longest gets it. */
  give(): void {
    for (const place of this.#line) {
      this.#line.delete(place);
      place.granted = true;
      place.wake();
      return;
    }
    this.#free++;
  }
}

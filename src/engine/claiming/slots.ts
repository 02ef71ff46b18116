// The slots of an executor: how many runs it executes at once. Runs that were claimed ahead wait in line for one.

import type { Session } from "../session.js";

export type Turn = "slot" | "none" | "stop";

/** Runs that doze, for each slot: they are in memory. */
const MOST_LENT = 10;
/** A run that has slept and gets no slot for this long is for any node: the line here has no priorities, and may not move. */
const LONGEST_LINE_MS = 100;

interface Place {
  granted: boolean;
  wake: () => void;
}

export class Slots {
  readonly #count: number;
  #free: number;
  #lent = 0;
  /** In the order of arrival. */
  readonly #line = new Set<Place>();

  constructor(count: number) {
    this.#count = count;
    this.#free = count;
  }

  get busy(): number {
    return this.#count - this.#free;
  }

  /** How many runs sleep and have lent their slot to others. */
  get lent(): number {
    return this.#lent;
  }

  /** All slots are taken, or were a moment ago, and there is room for another run without one. */
  get isCrowded(): boolean {
    return this.#free <= this.#lent && this.#lent < MOST_LENT * this.#count;
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
   * `none`: the node stops first, or its time has passed. `stop`: its run was asked to stop, and is let through for that. Rejects when
   * the claim is lost meanwhile.
   */
  async take(session: Session, mostMs: number | null = null): Promise<Turn> {
    const place: Place = { granted: false, wake: () => {} };
    const unsubscribe = session.onChange(() => place.wake());
    let calls = 0;
    let isLate = false;
    const late = () => {
      isLate = true;
      place.wake();
    };
    const cancel = mostMs === null ? () => {} : session.world.after(mostMs, late);
    this.#line.add(place);
    try {
      for (;;) {
        session.lost.throwIfAborted();
        if (session.stopping) return "none";
        if (place.granted) {
          place.granted = false;
          return "slot";
        }
        if (isLate) return "none";
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
      unsubscribe();
      cancel();
      this.#line.delete(place);
      if (place.granted) this.give();
    }
  }

  /** Another run gets the slot of this session until then. Returns whether it has one again. */
  async lend(session: Session, until: Promise<void>): Promise<boolean> {
    this.#lent++;
    this.give();
    await until.finally(() => this.#lent--);
    return (this.takeNow(session) ?? (await this.take(session, LONGEST_LINE_MS))) === "slot";
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

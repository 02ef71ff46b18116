// How far back a look for work goes. While a long transaction is open somewhere in the database, as that of a backup, rows that were
// claimed since it began cannot be removed, and each look reads past all of them: they are the oldest of the queue's index. Looks
// that leave them out are then made in between (7 groups, 70,000 such rows: 0.04 instead of 2.8 ms per group).

import type { World } from "../../kernel/world.js";

/** A whole look that takes longer may have read past many rows. */
const SLOW_MS = 10;
/** A short look is worthwhile if it takes less than this part of a whole one; where the way to the database is long, it does not. */
const WORTHWHILE = 0.25;
/** What became due before this, and was not there for the last whole look, waits for the next: a run that was reclaimed or admitted. */
const OVERLAP_MS = 5_000;
/** Whole looks take at most this part of the time, but there is one every second: a slow answer may have another reason. */
const WHOLE_PART = 0.2;
const LONGEST_PAUSE_MS = 1_000;
/** When a short look gains nothing, the next one is tried after this. */
const TRY_EVERY_MS = 60_000;

export class LookBack {
  readonly #world: World;
  /** Monotonic time before the last whole look that found less than it asked for, and how long it took. */
  #wholeAt = Number.NEGATIVE_INFINITY;
  #wholeMs = 0;
  #isOwed = false;
  #notBefore = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** For the next look: only runs that became due in these milliseconds. Null: all. */
  get recentMs(): number | null {
    const sinceMs = this.#world.monotonicNow() - this.#wholeAt;
    const isShort = this.#wholeMs > SLOW_MS && sinceMs < this.#pauseMs && this.#world.monotonicNow() >= this.#notBefore;
    return isShort ? sinceMs + OVERLAP_MS : null;
  }

  /** In which time a whole look must follow a short one. */
  get wholeInMs(): number {
    if (!this.#isOwed) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#wholeAt + this.#pauseMs - this.#world.monotonicNow());
  }

  /** A look that was sent at `sentAt` has been answered. `isFull`: there may be more. */
  looked(sentAt: number, recentMs: number | null, isFull: boolean): void {
    const tookMs = this.#world.monotonicNow() - sentAt;
    this.#isOwed = recentMs !== null;
    if (recentMs !== null) {
      if (tookMs > this.#wholeMs * WORTHWHILE) this.#notBefore = this.#world.monotonicNow() + TRY_EVERY_MS;
    } else if (!isFull) {
      this.#wholeAt = sentAt;
      this.#wholeMs = tookMs;
    }
  }

  get #pauseMs(): number {
    return Math.min(this.#wholeMs / WHOLE_PART, LONGEST_PAUSE_MS);
  }
}

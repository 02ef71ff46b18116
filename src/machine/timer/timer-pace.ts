// How many timers a node takes at once: as many as it surely fires before others may take them.
//
// Taken without a bound, thousands that were overdue were taken again while they waited for their turn, each time as an attempt, and
// ten attempts are the end of a timer.

import type { World } from "../../kernel/world.js";

/** Of each machine in one look. */
const PAGE = 250;
const MOST = 1_000;
const LEAST = 25;

export class TimerPace {
  readonly #world: World;
  readonly #quarterMs: number;
  #underWay = 0;
  #allowed = PAGE;

  /** `leaseMs`: nobody else takes them for so long. */
  constructor(world: World, leaseMs: number) {
    this.#world = world;
    this.#quarterMs = leaseMs / 4;
  }

  /** Of each machine in the next look. */
  get limit(): number {
    return Math.min(PAGE, this.#allowed);
  }

  get isFull(): boolean {
    return this.#underWay >= this.#allowed;
  }

  /** So many are on their way; call the answer when they have arrived. From then on a quarter of the lease's worth may be. */
  begin(count: number): () => void {
    const beganAt = this.#world.monotonicNow();
    this.#underWay += count;
    return () => {
      this.#underWay -= count;
      if (count === 0) return;
      const perMs = count / Math.max(this.#world.monotonicNow() - beganAt, 1);
      this.#allowed = Math.round(Math.min(Math.max(perMs * this.#quarterMs, LEAST), MOST));
    };
  }
}

// How many timers a node claims at once: as many as it surely fires before their claims expire.
//
// Without a bound, thousands of overdue timers were claimed again while they waited for their turn, each time as an
// attempt, and ten attempts are the end of a timer.

import type { World } from "../../kernel/world.js";

/** Per machine and round. */
const PAGE = 250;
const MOST = 1_000;
const LEAST = 25;

export class TimerPace {
  readonly #world: World;
  readonly #quarterMs: number;
  #underWay = 0;
  #allowed = PAGE;

  /** `leaseMs`: how long a claim lasts. */
  constructor(world: World, leaseMs: number) {
    this.#world = world;
    this.#quarterMs = leaseMs / 4;
  }

  /** Per machine, in the next round. */
  get limit(): number {
    return Math.min(PAGE, this.#allowed);
  }

  get isFull(): boolean {
    return this.#underWay >= this.#allowed;
  }

  /**
   * Registers timers in flight; call the returned function when they are done. From then on, as many as fit a quarter
   * of the lease may be in flight.
   */
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

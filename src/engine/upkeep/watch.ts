// Measures how long a node has been in contact with the store without a gap, which limits what it may conclude from silence.

import type { World } from "../../kernel/world.js";
import type { Witness } from "../../store/contract/node/house.js";

/** The longest time between two answers that is no gap; a busy machine is slow. */
const LONGEST_GAP_MS = 2_000;
const GAP_ROUNDS = 3;

export class Watch {
  readonly #world: World;
  readonly #gapMs: number;
  /** Null: nothing was answered since a round failed. */
  #since: number | null;
  #seenAt: number;
  #troubled = false;

  /** `since`: contact was made with the registration. */
  constructor(world: World, roundMs: number, since: number) {
    this.#world = world;
    this.#gapMs = Math.max(GAP_ROUNDS * roundMs, LONGEST_GAP_MS);
    this.#seenAt = since;
    this.#since = since;
  }

  get told(): Pick<Witness, "watchedMs" | "troubled"> {
    const watchedMs = this.#since === null ? 0 : this.#world.monotonicNow() - this.#since;
    return { watchedMs, troubled: this.#troubled };
  }

  answered(): void {
    const now = this.#world.monotonicNow();
    if (now - this.#seenAt > this.#gapMs) this.failed();
    this.#since ??= now;
    this.#seenAt = now;
  }

  failed(): void {
    this.#since = null;
    this.#troubled = true;
  }
}

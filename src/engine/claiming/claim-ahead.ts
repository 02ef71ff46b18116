// How many runs to claim ahead of a free slot: none, unless runs end so fast that those would begin within a moment.

import type { World } from "../../kernel/world.js";

/** A run claimed ahead keeps other nodes from it for this long. */
const BEGINS_WITHIN_MS = 50;

export interface ClaimAheadOptions {
  readonly world: World;
  /** The slots. */
  readonly size: number;
  /** The node's setting; null: as many as there are slots, while runs end fast. */
  readonly fixed: number | null;
  /** Whether a claimed run may wait here: with the recovery `fail`, it would fail if this process died. */
  readonly mayWait: () => boolean;
}

export class ClaimAhead {
  readonly #options: ClaimAheadOptions;
  /** Runs that have ended since then. */
  #ended = 0;
  #since: number;
  #isFast = false;

  constructor(options: ClaimAheadOptions) {
    this.#options = options;
    this.#since = options.world.monotonicNow();
  }

  /** A run has ended. As many as there are slots show how long a slot takes to become free. */
  ended(): void {
    if (++this.#ended < this.#options.size) return;
    this.#isFast = this.#sinceMs < BEGINS_WITHIN_MS;
    this.#since = this.#options.world.monotonicNow();
    this.#ended = 0;
  }

  get count(): number {
    const { fixed, size, mayWait } = this.#options;
    if (fixed !== null) return fixed;
    return this.#isFast && this.#sinceMs < BEGINS_WITHIN_MS && mayWait() ? size : 0;
  }

  get #sinceMs(): number {
    return this.#options.world.monotonicNow() - this.#since;
  }
}

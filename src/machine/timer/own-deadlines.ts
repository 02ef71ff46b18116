// The deadlines that this node has set itself: it looks at each in time, whichever node is the first to look at the others'.

/** Deadlines this close together are served together. */
const GRAIN_MS = 5;
/** Of more, the latest are left to the node that looks first. */
const MOST = 10_000;

export class OwnDeadlines {
  /** Monotonic, in their order, each once. Those of timers that were cancelled are among them. */
  readonly #at: number[] = [];

  add(at: number): void {
    const grain = Math.ceil(at / GRAIN_MS) * GRAIN_MS;
    const index = this.#indexOf(grain);
    if (this.#at[index] === grain) return;
    this.#at.splice(index, 0, grain);
    if (this.#at.length > MOST) this.#at.pop();
  }

  /** The first at or after this time; Infinity: there is none. */
  from(at: number): number {
    return this.#at[this.#indexOf(at)] ?? Number.POSITIVE_INFINITY;
  }

  forgetBefore(at: number): void {
    this.#at.splice(0, this.#indexOf(at));
  }

  #indexOf(at: number): number {
    let [low, high] = [0, this.#at.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#at[middle]! < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

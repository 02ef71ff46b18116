// The last known states of instances in this process. Only a guess: a write based on one succeeds at its sequence
// number, or not at all.

import type { InstanceState } from "./instance-state.js";

const MOST = 10_000;
/** By stored size: ten thousand contexts of a megabyte would be ten gigabytes. */
const MOST_BYTES = 64 * 1024 * 1024;
const USUAL_BYTES = 500;

interface Kept {
  readonly state: InstanceState;
  readonly bytes: number;
}

export class StateCache {
  readonly #states = new Map<string, Kept>();
  #bytes = 0;

  get(key: string): InstanceState | undefined {
    return this.#states.get(key)?.state;
  }

  /** `bytes`: the stored size; undefined: unchanged. The oldest entries are evicted when there is no room. */
  set(state: InstanceState, bytes = this.#states.get(state.key)?.bytes ?? USUAL_BYTES): void {
    this.delete(state.key);
    if (state.status !== "active" || bytes > MOST_BYTES) return;
    for (const key of this.#states.keys()) {
      if (this.#states.size < MOST && this.#bytes + bytes <= MOST_BYTES) break;
      this.delete(key);
    }
    this.#states.set(state.key, { state, bytes });
    this.#bytes += bytes;
  }

  /** A state that was just read counts only if nothing newer is known. */
  offer(state: InstanceState, bytes: number): void {
    if ((this.get(state.key)?.seq ?? 0) < state.seq) this.set(state, bytes);
  }

  delete(key: string): void {
    this.#bytes -= this.#states.get(key)?.bytes ?? 0;
    this.#states.delete(key);
  }
}

// States of instances that this process has seen last. Only ever a guess: what was worked out from one is written at its sequence, or
// not at all.

import type { InstanceState } from "./instance-state.js";

const MOST = 10_000;

export class StateCache {
  readonly #states = new Map<string, InstanceState>();

  get(key: string): InstanceState | undefined {
    return this.#states.get(key);
  }

  /** The oldest goes when there is no room. */
  set(state: InstanceState): void {
    const { key } = state;
    this.#states.delete(key);
    if (this.#states.size >= MOST) this.#states.delete(this.#states.keys().next().value!);
    if (state.status === "active") this.#states.set(key, state);
  }

  /** What was just read counts if nothing newer is known. */
  offer(state: InstanceState): void {
    if ((this.#states.get(state.key)?.seq ?? 0) < state.seq) this.set(state);
  }

  delete(key: string): void {
    this.#states.delete(key);
  }
}

// A costly read that all requests of a second share: many open pages cost the statements of one.

import type { World } from "../kernel/world.js";

const SHARED_MS = 1_000;

export class SharedRead<Value> {
  readonly #world: World;
  readonly #read: (key: string) => Promise<Value>;
  readonly #kept = new Map<string, { readonly at: number; readonly value: Promise<Value> }>();

  constructor(world: World, read: (key: string) => Promise<Value>) {
    this.#world = world;
    this.#read = read;
  }

  get(key: string): Promise<Value> {
    const kept = this.#kept.get(key);
    if (kept && this.#world.monotonicNow() - kept.at < SHARED_MS) return kept.value;
    const value = this.#read(key);
    this.#kept.set(key, { at: this.#world.monotonicNow(), value });
    value.catch(() => this.#kept.delete(key));
    return value;
  }

  /** A change was made: the next request reads it. */
  forget(key: string): void {
    this.#kept.delete(key);
  }
}

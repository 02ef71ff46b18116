// How the process of a node fares, for people to look at: reported with every fifth sign of life, in the statement that is sent anyway.

import type { World } from "../../kernel/world.js";
import type { NodeVitals } from "../../store/contract/node/programs.js";

const EVERY = 5;

interface Executor {
  readonly name: string;
  readonly slots: { readonly busy: number };
}

export class Vitals {
  readonly #world: World;
  readonly #executors: () => readonly Executor[];
  #beats = 0;

  constructor(world: World, executors: () => readonly Executor[]) {
    this.#world = world;
    this.#executors = executors;
  }

  /** For the next sign of life: the first has one, so that a node that just started is shown whole. */
  next(): { readonly vitals?: NodeVitals } {
    if (!this.#world.fares || this.#beats++ % EVERY !== 0) return {};
    const busy = Object.fromEntries(this.#executors().map(({ name, slots }) => [name, slots.busy]));
    return { vitals: { ...this.#world.fares(), busy } };
  }
}

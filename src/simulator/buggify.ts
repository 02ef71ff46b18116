// Which points of the code a simulation bends: each seed draws some of them, and each of those fires now and then until everything heals.

import { BUGGIFY_SITES, type BuggifySite } from "../kernel/buggify.js";
import type { Chance } from "./chance.js";

/** Part of the sites that a seed draws, and of their passages that are bent. */
const DRAWN = 0.35;
const FIRES = 0.25;

export class Bends {
  readonly #drawn: ReadonlySet<BuggifySite>;
  readonly #onBent: (site: BuggifySite) => void;
  #healed = false;

  constructor(chance: Chance, onBent: (site: BuggifySite) => void) {
    this.#drawn = new Set(BUGGIFY_SITES.filter(() => chance.happens(DRAWN)));
    this.#onBent = onBent;
  }

  heal(): void {
    this.#healed = true;
  }

  /** For one process, with draws of its own. */
  of(chance: Chance): (site: BuggifySite) => boolean {
    return (site) => {
      if (this.#healed || !this.#drawn.has(site) || !chance.happens(FIRES)) return false;
      this.#onBent(site);
      return true;
    };
  }
}

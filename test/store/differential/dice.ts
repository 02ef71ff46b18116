// Draws from a seed: the same seed, the same history.

import { mulberry } from "../scene.js";

export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = mulberry(seed);
  }

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => Math.floor(this.#random() * 16).toString(16)).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  int(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }

  chance(part: number): boolean {
    return this.#random() < part;
  }

  one<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!;
  }

  many<T>(least: number, most: number, draw: () => T): T[] {
    return Array.from({ length: this.int(least, most) }, draw);
  }

  pick<T>(choices: readonly (readonly [number, T | (() => T)])[]): T {
    let left = this.#random() * choices.reduce((sum, [weight]) => sum + weight, 0);
    const [, choice] =
      choices.find(([weight]) => {
        left -= weight;
        return left < 0;
      }) ?? choices.at(-1)!;
    return typeof choice === "function" ? (choice as () => T)() : choice;
  }
}

// Counts what one call spends, and records it with the call's next entry.

import type { Codecs } from "../kernel/codec/codecs.js";
import { InvalidInput } from "../kernel/error.js";
import type { AppendEffect } from "../kernel/run/effect.js";
import { spend } from "./fold.js";
import { exceeded } from "./limits.js";
import type { Memory } from "./memory.js";
import type { Bounds } from "./plan.js";
import type { NodePlace } from "./position.js";

const NOTHING: readonly AppendEffect[] = [];

export class Spending {
  readonly #memory: Memory;
  readonly #bounds: Bounds;
  #pending: Record<string, number> | null = null;

  constructor(memory: Memory, bounds: Bounds) {
    this.#memory = memory;
    this.#bounds = bounds;
  }

  spend(budget: string, amount: number): void {
    if (!Number.isFinite(amount) || amount < 0)
      throw new InvalidInput(`spend(${JSON.stringify(budget)})`, `must be a number from 0; it is ${String(amount)}`);
    this.#pending ??= {};
    this.#pending[budget] = (this.#pending[budget] ?? 0) + amount;
    spend(this.#memory, { [budget]: amount });
    const over = exceeded(this.#bounds, this.#memory.spent);
    if (over) throw over;
  }

  /** The spending that is not recorded yet. */
  effects({ path, visit }: NodePlace, codecs: Codecs): readonly AppendEffect[] {
    if (!this.#pending) return NOTHING;
    const payload = codecs.encode(this.#pending);
    this.#pending = null;
    return [{ kind: "append", entry: { kind: "spent", name: path, key: visit, payload } }];
  }
}

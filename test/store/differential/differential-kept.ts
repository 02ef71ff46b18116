// Draws operations on kept values, from dice of their own: the other steps of a seed stay what they were.

import { Dice } from "./dice.js";
import { type Step, step } from "./differential-step.js";
import type { BothStores } from "./differential-stores.js";

export class KeptSteps {
  readonly #dice: Dice;
  readonly #both: BothStores;

  constructor(seed: number, both: BothStores) {
    this.#dice = new Dice(seed + 1_000);
    this.#both = both;
  }

  next(): Step {
    const env = this.#dice.one(["test", "test", "other"]);
    const space = this.#dice.one(["s", "s", "t"]);
    const drawKey = () => this.#dice.one(["a", "b", "B", "c.1"]);
    const [key, after, limit] = [drawKey(), drawKey(), this.#dice.int(0, 4)];
    const values = this.#dice.many(1, 3, () => ({
      ...{ env, space, key: drawKey(), ttlMs: this.#dice.one([null, 0, 20, 3000]) },
      value: this.#dice.chance(0.3) ? null : { codec: "json", data: String(this.#dice.int(0, 9)) },
    }));
    const under = this.#claim();
    const options = under ? { under } : {};
    return this.#dice.pick<Step>([
      [5, step("kept.put", (store) => store.kept.put(values, options))],
      [2, step("kept.get", (store) => store.kept.get(env, space, key))],
      [3, step("kept.list", (store) => store.kept.list({ env, space, after, limit }))],
    ]);
  }

  /** Of a run, held or not, and sometimes with a part wrong; null: without one. */
  #claim() {
    const { runs } = this.#both.snapshot();
    if (runs.length === 0 || this.#dice.chance(0.4)) return null;
    const running = runs.filter(({ state }) => state === "running");
    const { id: runId, epoch, token } = this.#dice.one(running.length > 0 ? running : runs);
    return { runId, epoch: this.#dice.chance(0.1) ? epoch + 1 : epoch, token: token ?? this.#dice.uuid() };
  }
}

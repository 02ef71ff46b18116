// Draws runs to start: with keys, limits, parents and delays, some of them bad.

import type { KeyLifetime, NewLimit, NewRun } from "../../../src/kernel/run/new-run.js";
import { RECOVERIES } from "../../../src/kernel/run/recovery.js";
import { json } from "../scene.js";
import type { Dice } from "./dice.js";
import { GROUPS } from "./differential-step.js";

export class NewRunDraws {
  readonly #dice: Dice;
  readonly #runId: () => string;

  /** `runId`: the id of a run that was started before. */
  constructor(dice: Dice, runId: () => string) {
    this.#dice = dice;
    this.#runId = runId;
  }

  newRun(): NewRun {
    const parentId = this.#dice.chance(0.25) ? this.#runId() : undefined;
    const run: NewRun = {
      id: this.#dice.chance(0.06) ? this.#runId() : this.#dice.uuid(),
      group: this.#dice.one(GROUPS),
      priority: this.#dice.int(0, 2),
      delayMs: this.#dice.pick<number>([
        [8, 0],
        [2, () => this.#dice.int(1, 50)],
      ]),
      crashLimit: this.#dice.int(1, 3),
      input: json(this.#dice.int(0, 9)),
      ...(parentId ? { parentId } : {}),
      ...(this.#dice.chance(0.4) ? { key: this.newKey() } : {}),
      ...(this.#dice.chance(0.35) ? { limits: this.#limits() } : {}),
      ...(this.#dice.chance(0.15) ? { deferred: { by: "host", expiresInMs: this.#dice.one([5, 40, null]) } } : {}),
    };
    // By its id and not by another draw: the histories stay what they were.
    const recovery = RECOVERIES[Number.parseInt(run.id.at(-1)!, 16) % 8];
    const attributes = Number.parseInt(run.id.at(-2)!, 16) < 4 ? { a: "eu", b: 1 } : null;
    if (!this.#dice.chance(0.05)) return { ...run, ...(recovery && { recovery }), ...(attributes && { attributes }) };
    return this.#dice.one<NewRun>([
      { ...run, input: { codec: "json", data: "\0" } },
      { ...run, id: "not-a-uuid" },
      { ...run, delayMs: -1 },
      { ...run, crashLimit: 0 },
      { ...run, limits: [{ kind: "slots", key: "", max: 1 }] },
      { ...run, group: { ...run.group, queue: "\ud800" } },
    ]);
  }

  /** Few keys, so that lines form; each key has one limit or two, as after a deployment that changed it. */
  #limits(): NewLimit[] {
    const customer = this.#dice.one(["ann", "bob"]);
    const all: NewLimit[] = [
      { kind: "serial", key: `serial ${customer}`, max: 1 },
      { kind: "slots", key: `slots ${customer}`, max: this.#dice.int(1, 2) },
      { kind: "slots", key: "slots", max: 3 },
      { kind: "slots", key: "few", max: 2, overflow: this.#dice.one(["drop", "shed-oldest"]) },
      { kind: "rate", key: "rate", max: this.#dice.one([1, 4]), perMs: this.#dice.one([20, 1500]) },
    ];
    return all.filter(() => this.#dice.chance(0.5));
  }

  newKey(): NonNullable<NewRun["key"]> {
    const lifetime = this.#dice.one<KeyLifetime>(["live", "archived", { forMs: this.#dice.int(0, 40) }]);
    const onMismatch = this.#dice.one(["conflict", "skip"] as const);
    return {
      scope: this.#dice.one(["s", "t"]),
      key: `k${this.#dice.int(0, 7)}`,
      payloadHash: this.#dice.one(["x", "y"]),
      lifetime,
      onMismatch,
    };
  }
}

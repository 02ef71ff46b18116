// Draws operations on timeouts: few instances, short deadlines, claims that are stale, repeated or made up.

import type {
  NewTimeout,
  TimeoutClaimAnswer,
  TimeoutClaimRequest,
  TimeoutFence,
  TimeoutKey,
  TimeoutRecord,
} from "../../../src/store/contract/timeout/timeouts.js";
import type { Dice } from "./dice.js";
import type { Step } from "./differential-step.js";
import type { BothStores } from "./differential-stores.js";

const step = (name: string, call: Step["call"]): Step => ({ name: `timeouts.${name}`, call });

export class TimeoutSteps {
  readonly #dice: Dice;
  readonly #both: BothStores;
  readonly #seen: TimeoutRecord[] = [];
  readonly #claims: TimeoutClaimRequest[] = [];
  #lastSchedule: NewTimeout | null = null;
  #lastClaim: readonly TimeoutClaimRequest[] = [];

  constructor(dice: Dice, both: BothStores) {
    this.#dice = dice;
    this.#both = both;
  }

  next(): Step {
    const key = this.#key();
    const fences = this.#dice.many(1, 3, () => this.#fence());
    const releases = fences.map((fence) => ({
      ...fence,
      retryInMs: this.#dice.one([null, 0, 10, 100, "never" as const, "never" as const]),
      problem: this.#dice.one([null, "no", "not yet"]),
    }));
    const after = this.#dice.chance(0.8) ? "" : "i2";
    // Mostly what was claimed last: it may have been given up.
    const known = this.#claims.length > 0 && this.#dice.chance(0.7) ? this.#dice.one(this.#claims.slice(-4)) : key;
    const was = { env: known.env, scope: known.scope, instance: known.instance };
    const last = this.#claims.at(-1);
    const dead = this.#both.snapshot().timeouts.find((one) => one.dead);
    const limit = this.#dice.int(0, 4);
    return this.#dice.pick<Step>([
      [6, () => this.#schedule()],
      [8, () => this.#claim()],
      [3, step("cancel", (store) => store.timeouts.cancel(key))],
      [3, step("get", (store) => store.timeouts.get(key))],
      [2, step("expired", (store) => store.timeouts.expired(key, limit))],
      [2, step("complete", (store) => store.timeouts.complete(fences))],
      [3, step("release", (store) => store.timeouts.release(releases))],
      [
        last ? 2 : 0,
        step("release", (store) => store.timeouts.release([{ ...last!, retryInMs: "never", problem: "no" }])),
      ],
      [6, step("dead", (store) => store.timeouts.dead(was, { limit: limit + 1, after }))],
      [3, step("retry", (store) => store.timeouts.retry(was))],
      [dead ? 2 : 0, step("retry", (store) => store.timeouts.retry(dead!))],
    ]);
  }

  #key(): TimeoutKey {
    const env = this.#dice.chance(0.9) ? "test" : "other";
    return { env, scope: this.#dice.one(["order", "ticket"]), instance: `i${this.#dice.int(0, 4)}` };
  }

  #schedule(): Step {
    const again = this.#lastSchedule !== null && this.#dice.chance(0.1);
    const timeout = again ? this.#lastSchedule! : this.#newTimeout();
    this.#lastSchedule = timeout;
    const learn = (record: TimeoutRecord) => this.#seen.push(record);
    return { name: "timeouts.schedule", call: (store) => store.timeouts.schedule(timeout), learn };
  }

  #newTimeout(): NewTimeout {
    const at = Date.UTC(2026, 0, 1) + this.#dice.int(0, 5_000);
    const timeout: NewTimeout = {
      ...this.#key(),
      generation: this.#dice.uuid(),
      state: this.#dice.one(["pending", "started"]),
      sequence: this.#dice.int(0, 3),
      deadline: this.#dice.one([{ inMs: 0 }, { inMs: this.#dice.int(1, 40) }, { at }]),
      keep: this.#dice.chance(0.3),
    };
    if (!this.#dice.chance(0.15)) return timeout;
    return this.#dice.one<NewTimeout>([
      { ...timeout, instance: "" },
      { ...timeout, state: "a\0b" },
      { ...timeout, sequence: -1 },
      { ...timeout, deadline: { inMs: -1 } },
    ]);
  }

  /** Mostly of the current timeout, sometimes of an earlier one; one instance may be in a call twice. */
  #claim(): Step {
    const again = this.#lastClaim.length > 0 && this.#dice.chance(0.1);
    const requests = again ? this.#lastClaim : this.#dice.many(1, 3, () => this.#request());
    this.#lastClaim = requests;
    const learn = (answers: readonly TimeoutClaimAnswer[]) => {
      answers.forEach(({ outcome }, i) => {
        if (outcome === "claimed") this.#claims.push(requests[i]!);
      });
    };
    return { name: "timeouts.claim", call: (store) => store.timeouts.claim(requests), learn };
  }

  #request(): TimeoutClaimRequest {
    const seen = this.#seen.length > 0 && this.#dice.chance(0.95) ? this.#dice.one(this.#seen.slice(-8)) : null;
    return {
      ...(seen ?? this.#key()),
      generation: seen?.generation ?? this.#dice.uuid(),
      node: this.#dice.one(["ann", "bob"]),
      token: this.#dice.uuid(),
      claimMs: this.#dice.chance(0.02) ? 0 : this.#dice.one([1, 10, 60]),
    };
  }

  #fence(): TimeoutFence {
    const known = this.#claims.length > 0 && this.#dice.chance(0.9) ? this.#dice.one(this.#claims.slice(-4)) : null;
    const generation = known?.generation ?? this.#dice.uuid();
    return { generation, token: known && this.#dice.chance(0.9) ? known.token : this.#dice.uuid() };
  }
}

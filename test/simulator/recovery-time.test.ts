// How long the run of a killed node waits at default settings, in virtual time: the bound comes from the settings, and no busy machine
// adds to it. `npm run bench -- w7` measures the same on real processes.

import { expect, test } from "vitest";
import type { History } from "../../src/simulator/check/history.js";
import type { EffectLog } from "../../src/simulator/effect-log.js";
import { simulate } from "../../src/simulator/simulate.js";
import type { Swarm } from "../../src/simulator/swarm.js";
import type { DriveOptions, Place, Workload } from "../../src/simulator/workload/workload.js";
import { workflow } from "../../src/workflow/workflow.js";

const RECOVERED_MS = 2_500;
const SEEDS = 30;
const STEP = { do: "step", name: "hold", fails: 0, attempts: 1, delayMs: 0 } as const;

interface Ages {
  /** Of the cluster when the run starts. */
  readonly startedAtMs: number;
  /** Of the claim when its node is killed. */
  readonly heldMs: number;
}

/** Holds its claim for a while, then kills its node; the next holder makes the second attempt. */
const dying = (place: Place | null, heldMs: number) =>
  workflow("dying", async (ctx) => {
    await ctx.step("hold", (info) => place!.effect(ctx.runId, info, { ...STEP, ms: heldMs, kills: 0 }, []));
    await ctx.step("die", (info) => place!.effect(ctx.runId, info, { ...STEP, ms: 1, kills: 1 }, []));
  });

class Dying implements Workload {
  readonly #ages: Ages;
  recoveredMs = Number.NaN;

  constructor(ages: Ages) {
    this.#ages = ages;
  }

  programs(place: Place) {
    return [dying(place, this.#ages.heldMs)];
  }

  drive({ client, at }: DriveOptions): void {
    at(this.#ages.startedAtMs, () => void client.start(dying(null, 0), undefined, { key: "one" }));
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  async check(_history: History, effects: EffectLog): Promise<void> {
    const [first, second] = effects.records.filter(({ after, no }) => after.length === 0 && no > 0);
    this.recoveredMs = second!.at - first!.at;
  }
}

/** Default settings, a fast network and no fault but the death; `downMs`: when the dead node is back. */
const calm =
  (nodes: number, downMs: number) =>
  (drawn: Swarm): Swarm => ({
    ...drawn,
    nodes,
    leaseMs: 4 * downMs,
    settings: {},
    weather: { latencyMs: 1, loss: 0, late: 0, busy: 0, timeoutMs: 10_000, retryForMs: 10_000, lateSeals: 0 },
    faults: {},
    refuseEveryMs: null,
    faultsForMs: 15_000,
    foreign: false,
    slots: null,
  });

async function recoveries(adjust: (drawn: Swarm) => Swarm, agesOf: (seed: number) => Ages): Promise<number[]> {
  const all: number[] = [];
  for (let seed = 1; seed <= SEEDS; seed++) {
    const workload = new Dying(agesOf(seed));
    const { violations } = await simulate(seed, { adjust, workload: () => workload });
    expect(violations).toEqual([]);
    all.push(workload.recoveredMs);
  }
  return all;
}

/** Spread evenly over the rounds of the nodes. */
const phase = (seed: number) => (seed * 1_200) / SEEDS;

test("one of several nodes is killed: its run continues within 2.5 s", { timeout: 120_000 }, async () => {
  const all = await recoveries(calm(3, 60_000), (seed) => ({ startedAtMs: 5_000, heldMs: 4_000 + phase(seed) }));
  expect(Math.max(...all)).toBeLessThan(RECOVERED_MS);
});

test("one of two nodes is killed when both are three seconds old: its run continues within 2.5 s", {
  timeout: 120_000,
}, async () => {
  const all = await recoveries(calm(2, 60_000), (seed) => ({ startedAtMs: 500, heldMs: 2_500 + phase(seed) }));
  expect(Math.max(...all)).toBeLessThan(RECOVERED_MS);
});

test("the only node is killed and back after half a second: its run continues within 2.5 s", {
  timeout: 120_000,
}, async () => {
  const all = await recoveries(calm(1, 500), (seed) => ({ startedAtMs: 500, heldMs: 2_000 + phase(seed) }));
  expect(Math.max(...all)).toBeLessThan(RECOVERED_MS);
});

test("a node is killed right after its claim: its run continues within 2.5 s", { timeout: 120_000 }, async () => {
  const all = await recoveries(calm(3, 60_000), (seed) => ({ startedAtMs: 5_000 + phase(seed), heldMs: 0 }));
  expect(Math.max(...all)).toBeLessThan(RECOVERED_MS);
});

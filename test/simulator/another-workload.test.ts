// The simulator takes any workload, and any store on the memory store's tables: without a change to it.

import { expect, test } from "vitest";
import type { History } from "../../src/simulator/check/history.js";
import { type SimulateOptions, simulate } from "../../src/simulator/simulate.js";
import type { DriveOptions, Place, Workload } from "../../src/simulator/workload/workload.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { rememberStore, tablesOf } from "../../src/store/memory/table/open-stores.js";
import { workflow } from "../../src/workflow/workflow.js";

const STEP = { do: "step", name: "add", ms: 5, fails: 0, attempts: 3, delayMs: 5, kills: 0 } as const;

/** Counts to three, a step and a generation each; `endless` never ends. */
const counting = (place: Place | null, endless: boolean) =>
  workflow("count", async (ctx, n: number): Promise<number> => {
    await ctx.step("add", { retry: 3 }, (info) => place!.effect(ctx.runId, info, STEP, []));
    if (endless) await new Promise(() => {});
    return n < 3 ? ctx.continueAsNew(n + 1) : n;
  });

class Counting implements Workload {
  readonly #endless: boolean;
  seen: string[] = [];

  constructor(endless = false) {
    this.#endless = endless;
  }

  programs(place: Place) {
    return [counting(place, this.#endless)];
  }

  drive({ client, at }: DriveOptions): void {
    for (let i = 0; i < 4; i++)
      at(i * 100, () => void client.start(counting(null, this.#endless), 1, { key: `k${i}` }));
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  async check(history: History): Promise<void> {
    this.seen = [...history.runs.values()].map(({ state, generation }) => `${state} ${generation}`);
  }
}

async function simulateSeeds(count: number, options: () => SimulateOptions): Promise<string[]> {
  const broken: string[] = [];
  for (let seed = 1; seed <= count; seed++) {
    const { violations } = await simulate(seed, options());
    broken.push(...violations.map(({ invariant }) => invariant));
  }
  return broken;
}

test("another workload is simulated and checked like the first", { timeout: 60_000 }, async () => {
  const workloads: Counting[] = [];
  const workload = () => workloads[workloads.push(new Counting()) - 1]!;
  expect(await simulateSeeds(10, () => ({ workload }))).toEqual([]);
  const seen = workloads.flatMap((one) => one.seen);
  expect(seen.filter((one) => one === "completed 2").length).toBeGreaterThan(20);
});

test("work that never comes to its end breaks L3", { timeout: 60_000 }, async () => {
  expect(await simulateSeeds(1, () => ({ workload: () => new Counting(true) }))).toContain("L3");
});

/** The memory store with some of its operations replaced. */
function broken(change: (store: Store) => Partial<Store["runs"]>): SimulateOptions["openStore"] {
  return (world) => {
    const store = memoryStore({ world });
    const mended = { ...store, runs: { ...store.runs, ...change(store) } };
    rememberStore(mended, tablesOf(store));
    return mended;
  };
}

test("a store that grants what another holds is caught", { timeout: 60_000 }, async () => {
  const openStore = broken((store) => ({
    claim: (request) => {
      // Releases every claim first, whether its lease has expired or not.
      for (const row of tablesOf(store).runs.values()) if (row.leaseUntilUs !== null) row.leaseUntilUs = 0;
      return store.runs.reclaimExpired({ env: "default", limit: 100 }).then(() => store.runs.claim(request));
    },
  }));
  expect(await simulateSeeds(2, () => ({ openStore: openStore! }))).toContain("S5");
});

test("a store that forgets a commit it has accepted is caught", { timeout: 60_000 }, async () => {
  const openStore = broken((store) => ({
    commit: async (commits) => {
      const answers = await store.runs.commit(commits);
      for (const { claim } of commits) tablesOf(store).journal.get(claim.runId)?.delete(3);
      return answers;
    },
  }));
  expect(await simulateSeeds(2, () => ({ openStore: openStore! }))).toContain("S8");
});

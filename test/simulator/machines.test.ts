// Machines under seeded faults: nodes that die, hang and are cut off, a database that restarts and fails over. Every instance comes to its
// end, and its log has each timer and each effect's answer once.

import { expect, test } from "vitest";
import { setup } from "xstate";
import { machine } from "../../src/machine/index.js";
import type { History } from "../../src/simulator/check/history.js";
import { simulate } from "../../src/simulator/simulate.js";
import type { DriveOptions, Workload } from "../../src/simulator/workload/workload.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { tablesOf } from "../../src/store/memory/table/open-stores.js";
import { workflow } from "../../src/workflow/workflow.js";

const SEEDS = Number(process.env["HOLDFAST_MACHINE_SEEDS"] ?? 12);
/** Steps of the engine and of the effect `tell`, not of a workload: no outside attempt corresponds to them. */
const OUR_OWN = /^the result of (start|report|answer|tell):1 is none/;
const LOG = ["start", "after 300ms in a", "after 500ms in b", "TOLD"];

const timed = machine(
  "timed",
  setup({
    types: {} as { events: { type: "TOLD" } },
    actions: { tell: () => {} },
  }).createMachine({
    initial: "a",
    states: {
      a: { after: { 300: "b" } },
      b: { after: { 500: "c" } },
      c: { entry: "tell", on: { TOLD: "done" } },
      done: { type: "final" },
    },
  }),
  { effects: { tell: { retry: 20, run: async () => ({ type: "TOLD" }) } } },
);
const life = workflow("life", async (ctx) => {
  await ctx.child(timed, undefined);
});

class Lives implements Workload {
  readonly #store: () => Store;
  logs: string[][] = [];

  constructor(store: () => Store) {
    this.#store = store;
  }

  programs() {
    return [timed, life];
  }

  drive({ client, at }: DriveOptions): void {
    for (let i = 0; i < 6; i++) at(i * 150, () => void client.start(life, undefined, { key: `k${i}` }));
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  async check(history: History): Promise<void> {
    const { instances, instanceEvents, timers } = tablesOf(this.#store());
    for (const { key, id, status } of instances.values()) {
      const log = (instanceEvents.get(key) ?? []).map(({ name }) => name);
      this.logs.push(log);
      // A failover that lost the last commits may lose an acknowledged result of an effect (S1 does not hold then).
      const expected = history.lost.size > 0 ? LOG.slice(0, log.length) : LOG;
      if (status !== "done" && history.lost.size === 0) history.broken("L4", id, `its instance is ${status}`);
      if (JSON.stringify(log) !== JSON.stringify(expected)) history.broken("S11", id, `its log is ${log.join(", ")}`);
    }
    if (history.lost.size > 0) return;
    for (const { id, kind } of timers.values()) history.broken("S11", id, `a timer (${kind}) is left`);
  }
}

test("every timer fires once, and every instance comes to its end", { timeout: 120_000 }, async () => {
  let done = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    let store: Store | null = null;
    let lives: Lives | null = null;
    const { violations } = await simulate(seed, {
      workload: () => {
        lives = new Lives(() => store!);
        return lives;
      },
      openStore: (world) => {
        store = memoryStore({ world });
        return store;
      },
    });
    const found = violations.filter(({ detail }) => !OUR_OWN.test(detail));
    expect({ seed, found }).toEqual({ seed, found: [] });
    done += lives!.logs.length;
  }
  expect(done).toBeGreaterThan(SEEDS * 3);
});

test("the same seed is the same history", { timeout: 60_000 }, async () => {
  const hash = async () => {
    let store: Store | null = null;
    const options = {
      workload: () => new Lives(() => store!),
      openStore: (
        world: Parameters<typeof memoryStore>[0] extends { world?: infer W } | undefined ? NonNullable<W> : never,
      ) => {
        store = memoryStore({ world });
        return store;
      },
    };
    return (await simulate(3, options)).hash;
  };
  expect(await hash()).toBe(await hash());
});

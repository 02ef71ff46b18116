// Timeouts under seeded faults: sweepers that die, hang and are cut off, a database that restarts, fails over and whose clock jumps. Each
// timeout fires once, in its own generation, and none is lost.
//
// HOLDFAST_TIMEOUT_SEEDS=200 simulates 200 histories.

import { expect, test } from "vitest";
import { sleep, type World } from "../../src/kernel/world.js";
import type { History } from "../../src/simulator/check/history.js";
import { simulate } from "../../src/simulator/simulate.js";
import type { Swarm } from "../../src/simulator/swarm.js";
import type { DriveOptions, Workload } from "../../src/simulator/workload/workload.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { joinKey } from "../../src/store/memory/table/names.js";
import { tablesOf } from "../../src/store/memory/table/open-stores.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import { TimeoutSweeper } from "../../src/timeout/sweeper.js";
import { workflow } from "../../src/workflow/workflow.js";

const SEEDS = Number(process.env["HOLDFAST_TIMEOUT_SEEDS"] ?? 8);
const COUNT = 30;
/** Lasts until long after the last deadline, the faults, and the longest back-off of these few failures. */
const life = workflow("life", async (ctx, ms: number) => {
  await ctx.sleep("wait", ms);
});

class HandlerFailed extends TypeError {}

interface Row {
  readonly state: "pending" | "away" | "expired";
  /** When the state was entered. */
  readonly sequence: number;
  readonly fired: number;
  readonly early: boolean;
}

/** The user's own rows, in the same database: what a failover loses of the one it loses of the other. */
class Rows {
  readonly #store: () => Store;

  constructor(store: () => Store) {
    this.#store = store;
  }

  get(id: string): Row | undefined {
    const row = tablesOf(this.#store()).timeouts.get(joinKey("rows", "rows", id));
    return row && (JSON.parse(row.state) as Row);
  }

  set(id: string, row: Row): void {
    const none = { claimedBy: null, claimedUntilUs: null, token: null, releasedToken: null, problem: null };
    tablesOf(this.#store()).timeouts.set(joinKey("rows", "rows", id), {
      ...{ env: "rows", scope: "rows", instance: id, generation: id, state: JSON.stringify(row), sequence: 1 },
      ...{ deadlineUs: 0, dueAtUs: null, createdAtUs: 0, attempts: 0, ...none },
    });
  }
}

class Expiries implements Workload {
  readonly #store: () => Store;
  readonly #swarm: Swarm;
  readonly #rows: Rows;
  fires = 0;

  constructor(store: () => Store, swarm: Swarm) {
    this.#store = store;
    this.#swarm = swarm;
    this.#rows = new Rows(store);
  }

  programs() {
    return [life];
  }

  /** Every second history has a leader. */
  beside(store: Store, world: World): void {
    new TimeoutSweeper({
      store: timeoutStore(store, { scope: "order", world }),
      world,
      ...{ sweepInterval: "2s", claimDuration: "1s" },
      ...(this.#swarm.seed % 2 === 0 && { leaderElection: { lease: "3s", renew: "1s" } }),
      fire: async ({ instance, state, sequence, deadline, attempts }) => {
        // Later failures back off for longer than the simulation lasts.
        const mayFail = attempts <= 4;
        await sleep(world, world.random() * 30);
        if (world.random() < 0.1 && mayFail) throw new HandlerFailed("before the write");
        const fired = this.#expire(instance, state, sequence, deadline);
        await sleep(world, world.random() * 30);
        if (world.random() < 0.1 && mayFail) throw new HandlerFailed("after the write");
        return fired ? "fired" : "stale";
      },
    }).start();
  }

  /** The conditional write. */
  #expire(id: string, state: string, sequence: number, deadline: number): boolean {
    const row = this.#rows.get(id);
    if (row?.state !== state || row.sequence !== sequence) return false;
    const early = row.early || tablesOf(this.#store()).nowUs() / 1000 < deadline;
    this.#rows.set(id, { state: "expired", sequence: sequence + 1, fired: row.fired + 1, early });
    this.fires++;
    return true;
  }

  /** Row and timeout together, as in a user's transaction. */
  #arm(id: string, sequence: number, ms: number): void {
    this.#rows.set(id, { state: "pending", sequence, fired: 0, early: false });
    void timeoutStore(this.#store(), { scope: "order" }).schedule(id, { state: "pending", sequence, in: ms });
  }

  drive({ client, at, chance }: DriveOptions): void {
    const lastsMs = Math.ceil(Math.max(60_000, this.#swarm.faultsForMs + 40_000));
    at(0, () => void client.start(life, lastsMs, { key: "life" }));
    for (let i = 0; i < COUNT; i++) {
      const startMs = i * 200;
      const ms = chance.int(0, 4_000);
      at(startMs, () => this.#arm(`i${i}`, 1, ms));
      if (i % 5 === 3) {
        // It leaves without cancelling its timeout, and later returns.
        at(startMs + ms / 2, () => this.#leave(`i${i}`));
        at(startMs + ms / 2 + 500, () => this.#comeBack(`i${i}`));
      }
    }
  }

  #leave(id: string): void {
    const row = this.#rows.get(id);
    if (row?.state === "pending") this.#rows.set(id, { ...row, state: "away", sequence: row.sequence + 1 });
  }

  #comeBack(id: string): void {
    const row = this.#rows.get(id);
    if (row?.state === "away") this.#arm(id, row.sequence + 1, 300);
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  async check(history: History): Promise<void> {
    const { timeouts } = tablesOf(this.#store());
    const left = [...timeouts.values()].filter(({ scope }) => scope === "order");
    for (const { instance, problem } of left) history.broken("L4", instance, `its timeout is left: ${problem}`);
    for (let i = 0; i < COUNT; i++) {
      const row = this.#rows.get(`i${i}`);
      // A failover may have lost its arrival or its departure; then it does not return.
      if (!row || row.state === "away") continue;
      if (row.state !== "expired") history.broken("L4", `i${i}`, `it is still ${row.state}`);
      if (row.fired !== 1) history.broken("S11", `i${i}`, `it fired ${row.fired} times`);
      if (row.early && this.#swarm.faults.jump === undefined) history.broken("S11", `i${i}`, "it fired early");
    }
  }
}

test("every timeout fires once, in its own stay, and none is left", { timeout: 120_000 }, async () => {
  let fires = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    let store: Store | null = null;
    let expiries: Expiries | null = null;
    const { violations } = await simulate(seed, {
      workload: (swarm) => {
        expiries = new Expiries(() => store!, swarm);
        return expiries;
      },
      openStore: (world) => {
        store = memoryStore({ world });
        return store;
      },
    });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    fires += expiries!.fires;
  }
  expect(fires).toBeGreaterThan(SEEDS * COUNT * 0.8);
});

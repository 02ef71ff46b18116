// What the tests of the queue share: both stores under one suite, with a store's clock and a process's timers that the
// test moves apart from each other.

import { afterAll, beforeAll, describe } from "vitest";
import { type QueueOptions, type StoreQueue, WorkflowWorker, workflowQueue } from "../../src/compat/index.js";
import type { WorkerEvents } from "../../src/compat/worker-events.js";
import type { WorkerOptions } from "../../src/compat/worker-options.js";
import type { Store } from "../../src/store/contract/store.js";
import type { Transaction } from "../../src/store/contract/transaction.js";
import { memoryStore, memoryTransaction } from "../../src/store/memory/index.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { openMovableClock } from "../conformance/on-postgres.js";
import { testSchema } from "../harness/database.js";

export type Transact = (fn: (tx: Transaction) => Promise<unknown>, end: "commit" | "rollback") => Promise<void>;

export class Bench {
  readonly store: Store;
  /** Moves the store's clock: leases, back-offs. */
  readonly pass: (ms: number) => Promise<unknown>;
  /** The process's timers: polls, heartbeats, grace. Its wall clock decides nothing. */
  readonly world = new VirtualWorld({ seed: Math.floor(Math.random() * 2 ** 32) });
  readonly env = `e${this.world.token().slice(0, 8)}`;

  /** Calls back inside a transaction of the caller's, then ends it. */
  readonly transaction: Transact;

  constructor(store: Store, pass: (ms: number) => Promise<unknown>, transaction: Transact) {
    this.store = store;
    this.pass = pass;
    this.transaction = transaction;
  }

  queue(options: QueueOptions = {}, store: Store = this.store): StoreQueue {
    return workflowQueue(store, { env: this.env, world: this.world, ...options });
  }

  /** A worker and everything it emitted, as `[name, facts without the time]`. */
  worker(options: WorkerOptions) {
    const worker = new WorkflowWorker(options);
    const told: [string, Record<string, unknown>][] = [];
    for (const name of EVENTS) worker.on(name, ({ at: _, ...facts }) => told.push([name, facts]));
    return { worker, told, names: () => told.map(([name]) => name) };
  }

  /** Advances the process's time in small steps until a condition holds. */
  async until(so: () => boolean | Promise<boolean>, stepMs = 20): Promise<void> {
    for (let i = 0; i < 4_000; i++) {
      if (await so()) return;
      await this.world.advance(stepMs);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    throw new TypeError("it never came about");
  }

  /** Waits for a promise while the process's time advances. */
  async during<T>(promise: Promise<T>, stepMs = 20): Promise<T> {
    let done = false;
    promise.then(
      () => {
        done = true;
      },
      () => {
        done = true;
      },
    );
    await this.until(() => done, stepMs);
    return promise;
  }
}

export const EVENTS: readonly (keyof WorkerEvents)[] = [
  "job:claimed",
  "job:completed",
  "job:failed",
  "job:released",
  "job:dead_letter",
  "job:claim_lost",
  "job:handed_back",
  "worker:started",
  "worker:stopped",
  "worker:error",
];

/** The same tests on the memory store and on PostgreSQL. */
export function onBothStores(suite: (open: () => Bench) => void): void {
  describe("memory", () => {
    suite(() => {
      const clock = new VirtualWorld();
      const store = memoryStore({ world: clock });
      return new Bench(
        store,
        (ms) => clock.advance(ms),
        async (fn, end) => {
          const tx = memoryTransaction(store);
          await fn(tx);
          tx[end]();
        },
      );
    });
  });
  describe("postgres", () => {
    const { url, schema, pool } = testSchema();
    let store: PostgresStore;
    let pass: (ms: number) => Promise<unknown>;
    beforeAll(async () => {
      const clock = await openMovableClock(pool, schema);
      store = openPostgres(url, { schema }, { now: clock.now });
      await store.migrate();
      pass = clock.advance;
    });
    afterAll(() => store.close());
    const transact: Transact = async (fn, end) => {
      const client = await pool.connect();
      await client.query("begin");
      await fn({ query: (text, values) => client.query(text, values) });
      await client.query(end);
      client.release();
    };
    suite(() => new Bench(store, (ms) => pass(ms), transact));
  });
}

/** The store with some of its operations on runs replaced. */
export function withRuns(store: Store, runs: Partial<Store["runs"]>): Store {
  return { ...store, runs: { ...store.runs, ...runs } };
}

export class Unavailable extends Error {
  readonly code = "STORE_UNAVAILABLE";
}

/** A promise that the test settles. */
export function latch<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

// Schedulers on either store, with a store clock that the test moves.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { Modes } from "../../src/engine/modes.js";
import type { BreakerRule } from "../../src/kernel/breaker-rule.js";
import { codecs } from "../../src/kernel/codec/codecs.js";
import type { Effect } from "../../src/kernel/run/effect.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { World } from "../../src/kernel/world.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { type ScheduledProgram, Scheduler } from "../../src/trigger/scheduler.js";
import type { Tick, Trigger } from "../../src/trigger/trigger.js";
import type { ScheduleEvents, TriggerEvents } from "../../src/trigger/trigger-events.js";
import { openMovableClock } from "../conformance/on-postgres.js";
import { testSchema } from "../harness/database.js";

type Events = ScheduleEvents & Pick<TriggerEvents, "breaker.half_opened">;
type Told = { [Name in keyof Events]: { name: Name } & Events[Name] }[keyof Events];

export interface Bench {
  readonly store: Store;
  /** Sets the store's clock. */
  setNow(ms: number): Promise<void>;
}

interface NodeOptions {
  readonly world?: World;
  readonly stack?: string | null;
  readonly breaker?: BreakerRule | null;
}

/** An env of the test's own, at an instant. */
export class Corner {
  readonly env = `env-${randomUUID()}`;
  readonly told: Told[] = [];
  readonly #bench: Bench;
  #now: number;

  private constructor(bench: Bench, now: number) {
    this.#bench = bench;
    this.#now = now;
  }

  static async at(bench: Bench, instant: string): Promise<Corner> {
    const corner = new Corner(bench, Date.parse(instant));
    await bench.setNow(corner.now);
    return corner;
  }

  get now(): number {
    return this.#now;
  }

  get store(): Store {
    return this.#bench.store;
  }

  /** Time passes, and no scheduler polls. */
  async pass(ms: number): Promise<void> {
    this.#now += ms;
    await this.#bench.setNow(this.#now);
  }

  /** A node that has declared its schedules. Its own clock may be wrong. */
  async node(on: readonly Trigger<unknown>[], options: NodeOptions = {}) {
    const { world = systemWorld(), stack = null, breaker = null } = options;
    const program: ScheduledProgram = {
      name: "report",
      queue: "report",
      version: null,
      limits: [],
      triggers: on.map(({ spec }) => spec),
      breaker,
    };
    const scheduler = new Scheduler({
      store: this.store.schedules,
      breakers: this.store.breakers,
      world,
      bus: { emit: (name, facts) => this.told.push({ name, ...facts } as Told) },
      env: this.env,
      stack,
      programs: [program],
      modes: new Modes(),
      lookEveryMs: 1000,
      newRun: ({ name, queue, version }, input) => ({
        id: world.id(),
        group: { env: this.env, stack, queue, program: name, version },
        priority: 0,
        delayMs: 0,
        crashLimit: 5,
        input: codecs().encode(input, "input"),
      }),
    });
    await scheduler.declare(null);
    await scheduler.round();
    return scheduler;
  }

  /** Claims the run that is due and ends it. */
  async end(as: "completed" | "failed"): Promise<void> {
    const group = { env: this.env, stack: null, queue: "report", program: "report", version: null };
    const groupIds = await this.store.runs.groupIds([group]);
    const [owner, token] = [randomUUID(), randomUUID()];
    const [claim] = await this.store.runs.claim({ owner, token, groupIds, limit: 1, leaseMs: 60_000 });
    const payload = { codec: "json", data: "{}" };
    const effect: Effect =
      as === "completed" ? { kind: "complete", output: payload } : { kind: "fail", as, reason: payload };
    const [answer] = await this.store.runs.commit([{ claim: claim!, expectedSeq: claim!.seq, effects: [effect] }]);
    if (answer?.outcome !== "accepted") throw new Error(`the end was ${answer?.outcome}`);
  }

  async ticks(): Promise<Tick<"cron" | "every">[]> {
    const { runs } = await this.store.runs.list({ env: this.env }, { limit: 1000 });
    const inputs = await Promise.all(
      runs.map(async ({ id }) => (await this.store.journal.read(id))!.entries[0]!.payload!.data),
    );
    return inputs
      .map((data) => JSON.parse(data) as Tick<"cron" | "every">)
      .sort((a, b) => (a.window < b.window ? -1 : 1));
  }

  /** The windows that have a run, each as often as it has one. */
  async windows(): Promise<string[]> {
    return (await this.ticks()).map(({ window }) => window);
  }
}

export function onBothStores(suite: (bench: Bench) => void): void {
  describe("on the memory store", () => {
    let now = 0;
    suite({
      store: memoryStore({ world: { ...systemWorld(), wallNow: () => now } }),
      setNow: async (ms) => {
        now = ms;
      },
    });
  });
  describe("on PostgreSQL", () => {
    const { url, schema, pool } = testSchema();
    const now = `(select at from ${schema}.test_clock)`;
    const store = openPostgres(url, { schema }, { now });
    beforeAll(async () => {
      await openMovableClock(pool, schema);
      await store.migrate();
    });
    afterAll(() => store.close());
    suite({
      store,
      setNow: async (ms) => {
        await pool.query(`update ${schema}.test_clock set at = to_timestamp($1::float8 / 1000)`, [ms]);
      },
    });
  });
}

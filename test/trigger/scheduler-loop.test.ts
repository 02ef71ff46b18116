// The loop that fires schedules, in virtual time: it sleeps until the next window, and continues whatever the store does.

import { afterEach, expect, test } from "vitest";
import { Modes } from "../../src/engine/modes.js";
import type { ScheduleStore } from "../../src/store/contract/schedule/schedules.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { StoreUnavailable } from "../../src/store/postgres/connection/errors.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { cron, every } from "../../src/trigger/schedule.js";
import { type ScheduledProgram, Scheduler } from "../../src/trigger/scheduler.js";
import type { Trigger } from "../../src/trigger/trigger.js";

const opened: Scheduler[] = [];
afterEach(() => {
  for (const scheduler of opened.splice(0)) void scheduler.stop();
});

/** The number of its listeners. */
class CountedModes extends Modes {
  listeners = 0;

  override onChange(tell: () => void): () => void {
    this.listeners++;
    const off = super.onChange(tell);
    return () => {
      this.listeners--;
      off();
    };
  }
}

async function start(on: readonly Trigger<unknown>[], broken: Partial<ScheduleStore> = {}) {
  const world = new VirtualWorld();
  const modes = new CountedModes();
  const store = memoryStore({ world });
  const calls = { due: 0, declare: 0 };
  const told: { readonly name: string; readonly lateMs?: number }[] = [];
  const programs: ScheduledProgram[] = [
    { name: "p", queue: "p", version: null, limits: [], triggers: on.map(({ spec }) => spec), breaker: null },
  ];
  const scheduler = new Scheduler({
    store: {
      ...store.schedules,
      due: (ids) => {
        calls.due++;
        return store.schedules.due(ids);
      },
      declare: (declaration) => {
        calls.declare++;
        return store.schedules.declare(declaration);
      },
      ...broken,
    },
    breakers: store.breakers,
    world,
    bus: { emit: (name, facts) => told.push({ name, ...facts }) },
    env: "test",
    stack: null,
    programs,
    modes,
    lookEveryMs: 5_000,
    newRun: ({ name, queue }, input) => ({
      id: world.id(),
      group: { env: "test", stack: null, queue, program: name, version: null },
      priority: 0,
      delayMs: 0,
      crashLimit: 5,
      input: { codec: "json", data: JSON.stringify(input) },
    }),
  });
  if (scheduler.hasSchedules) await scheduler.declare(null);
  scheduler.start();
  opened.push(scheduler);
  const runs = async () => Object.values(await store.runs.count({ env: "test" })).reduce((sum, n) => sum + n, 0);
  return { world, store, scheduler, modes, calls, told, runs };
}

test("the loop sleeps until a window: it fires within a hundredth of a second, with few queries in between", async () => {
  const { world, calls, told, runs } = await start([every("1m")]);
  await world.advance(10 * 60_000 + 20);
  expect(await runs()).toBe(10);
  expect(told.map(({ name }) => name)).toEqual(Array.from({ length: 10 }, () => "schedule.fired"));
  expect(Math.max(...told.map(({ lateMs }) => lateMs ?? Number.NaN))).toBeLessThanOrEqual(10);
  // One every 5 s, and two around each window.
  expect(calls.due).toBeLessThan(160);
});

test("a node whose programs have no schedule polls for none, and only declares once a minute that it has none", async () => {
  const { world, calls } = await start([]);
  await world.advance(10 * 60_000 + 1);
  expect(calls).toEqual({ due: 0, declare: 10 });
});

test("a schedule that is never due again is polled now and then, and never spins", async () => {
  const { world, calls } = await start([cron("0 0 0 1 1 * 2021")]);
  await world.advance(60_000);
  expect(calls.due).toBeLessThanOrEqual(14);
});

test("a resumed schedule is found at the next poll", async () => {
  const { world, store, runs } = await start([every("1s", { catchUp: "last" })]);
  await store.schedules.pause("test", "p", "ann");
  await world.advance(60_000);
  expect(await runs()).toBe(0);
  await store.schedules.resume("test", "p");
  await world.advance(5_000);
  expect(await runs()).toBeGreaterThanOrEqual(1);
});

test("while the store fails each error is reported, and afterwards every window is caught up", async () => {
  let away = false;
  const { world, store, told, runs } = await start([every("10s", { catchUp: "all" })], {
    fire: async (fires) => {
      if (away) throw new StoreUnavailable("fire", 0, null);
      return store.schedules.fire(fires);
    },
  });
  await world.advance(10_010);
  away = true;
  await world.advance(60_000);
  expect(await runs()).toBe(1);
  expect(told.some(({ name }) => name === "schedule.failed")).toBe(true);
  away = false;
  await world.advance(10_000);
  expect(await runs()).toBe(8);
});

test("a row that was lost is declared again within a minute", async () => {
  const { world, store, runs } = await start([every("10s")]);
  await world.advance(1_000);
  const gone = { env: "test", stack: null, programs: ["p"], schedules: [], removeAfterMs: 0 };
  await store.schedules.declare(gone);
  expect((await store.schedules.list("test")).schedules).toEqual([]);
  await world.advance(60_000 + 10_020);
  expect((await store.schedules.list("test")).schedules).toHaveLength(1);
  expect(await runs()).toBe(1);
});

test("a stopped scheduler fires nothing more", async () => {
  const { world, scheduler, runs } = await start([every("1s")]);
  await world.advance(1_010);
  const stopping = scheduler.stop();
  await world.advance(2_000);
  await stopping;
  await world.advance(10_000);
  expect(await runs()).toBe(1);
});

test("a stopped scheduler leaves no listener on the node's modes, which outlive it", async () => {
  const { world, scheduler, modes } = await start([every("1m")]);
  expect(modes.listeners).toBe(1);
  const stopping = scheduler.stop();
  await world.advance(10);
  await stopping;
  expect(modes.listeners).toBe(0);
});

// Schedules through the store: which windows get a run, whichever node polls, whenever, and whatever its own clock says.

import { describe, expect, test } from "vitest";
import { Modes } from "../../src/engine/modes.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { CatchUp } from "../../src/trigger/decide-fires.js";
import { cron, every } from "../../src/trigger/schedule.js";
import { writeSpec } from "../../src/trigger/schedule-spec.js";
import { CATCH_UP_PAUSE_MS, MOST_WINDOWS, REMOVE_AFTER_MS, Scheduler } from "../../src/trigger/scheduler.js";
import { CLOCK_CHANGES } from "./clock-changes.js";
import { Corner, onBothStores } from "./scheduler-bench.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const iso = (ms: number) => new Date(ms).toISOString();

onBothStores((bench) => {
  const at = (instant: string) => Corner.at(bench, instant);

  for (const [name, line, timezone, from, expected] of CLOCK_CHANGES) {
    test(`${name}: one run per slot, with two nodes`, async () => {
      const corner = await at(from);
      const nodes = [await corner.node([cron(line, { timezone })]), await corner.node([cron(line, { timezone })])];
      // Before and at each: a window that should not exist would be caught up.
      for (const window of expected) {
        const due = Date.parse(window.replace("Z", ":00Z"));
        for (const instant of [due - 1, due]) {
          await corner.pass(instant - corner.now);
          await Promise.all(nodes.map((node) => node.round()));
        }
        expect((await corner.windows()).at(-1)).toBe(iso(due));
      }
      expect((await corner.windows()).map((window) => window.replace(":00.000Z", "Z"))).toEqual(expected);
    });
  }

  test("everything down for ten minutes: each policy catches up exactly what it promises", async () => {
    const expected: Record<CatchUp, number[]> = { none: [2], last: [2, 12], all: [2, 4, 6, 8, 10, 12] };
    for (const catchUp of ["none", "last", "all"] as const) {
      const corner = await at("2026-05-01T10:00:00Z");
      const start = corner.now;
      const before = await corner.node([every("2m", { catchUp })]);
      await corner.pass(2 * MINUTE);
      await before.round();
      await corner.pass(11.5 * MINUTE);
      // A process that has just started, and another one.
      const [after, beside] = [
        await corner.node([every("2m", { catchUp })]),
        await corner.node([every("2m", { catchUp })]),
      ];
      for (const node of [after, beside, after]) await node.round();
      const windows = expected[catchUp].map((minute) => iso(start + minute * MINUTE));
      expect({ catchUp, windows: await corner.windows() }).toEqual({ catchUp, windows });
      const skipped = corner.told.filter(({ name }) => name === "schedule.skipped");
      const caughtUp = corner.told.filter(({ name }) => name === "schedule.caught_up");
      expect(skipped).toHaveLength(catchUp === "all" ? 0 : 1);
      expect(caughtUp).toMatchObject(catchUp === "none" ? [] : [{ windows: windows.length - 1, more: false }]);
      // It continues in its old rhythm.
      await corner.pass(MINUTE);
      await beside.round();
      expect((await corner.windows()).at(-1)).toBe(iso(start + 14 * MINUTE));
    }
  });

  test("while the breaker is open windows start nothing; when it is half-open one of them probes, whichever node polls", async () => {
    const corner = await at("2026-05-01T10:00:00Z");
    const start = corner.now;
    const breaker = { threshold: 2, halfOpenMs: 2.5 * MINUTE };
    const nodes = [await corner.node([every("1m")], { breaker }), await corner.node([every("1m")], { breaker })];
    const round = async (minutes: number) => {
      await corner.pass(minutes * MINUTE);
      await Promise.all(nodes.map((node) => node.round()));
      return (await corner.windows()).map((window) => (Date.parse(window) - start) / MINUTE);
    };
    const told = (name: string) => corner.told.filter((one) => one.name === name);
    for (const [minute, windows] of [
      [1, [1]],
      [2, [1, 2]],
    ] as const) {
      expect({ minute, windows: await round(1) }).toEqual({ minute, windows });
      await corner.end("failed");
    }
    expect(await round(1)).toEqual([1, 2]);
    expect(told("schedule.rejected")).toMatchObject([{ schedule: "every 1m", windows: [iso(start + 3 * MINUTE)] }]);
    // Half-open: both nodes decide on the window, and one run probes.
    expect(await round(2)).toEqual([1, 2, 5]);
    expect(told("breaker.half_opened")).toHaveLength(1);
    // The probe is running: no other run may start.
    expect(await round(1)).toEqual([1, 2, 5]);
    expect(told("schedule.rejected")).toHaveLength(2);
    await corner.end("completed");
    expect(await round(1)).toEqual([1, 2, 5, 7]);
    expect(told("schedule.fired")).toHaveLength(4);
  });

  test("catch-up fires a hundred windows a second, however many nodes poll", async () => {
    const corner = await at("2026-05-01T10:00:00Z");
    const start = corner.now;
    const nodes = [
      await corner.node([every("1s", { catchUp: "all" })]),
      await corner.node([every("1s", { catchUp: "all" })]),
    ];
    await corner.pass(250 * SECOND);
    const round = async () => {
      for (const node of [...nodes, ...nodes]) await node.round();
      return (await corner.windows()).length;
    };
    expect(await round()).toBe(MOST_WINDOWS);
    await corner.pass(CATCH_UP_PAUSE_MS - 1);
    expect(await round()).toBe(MOST_WINDOWS);
    await corner.pass(1);
    expect(await round()).toBe(2 * MOST_WINDOWS);
    await corner.pass(CATCH_UP_PAUSE_MS);
    expect(await round()).toBe(252);
    expect(await corner.windows()).toEqual(Array.from({ length: 252 }, (_, i) => iso(start + (i + 1) * SECOND)));
    await corner.pass(SECOND);
    expect(await round()).toBe(253);
  });

  test("a node's own clock decides nothing, a day ahead or a day behind", async () => {
    const corner = await at("2026-05-01T10:00:00Z");
    const start = corner.now;
    const skewed = (days: number) => ({ ...systemWorld(), wallNow: () => corner.now + days * 24 * 60 * MINUTE });
    const line = cron("*/10 * * * *", { catchUp: "all" });
    const nodes = [await corner.node([line], { world: skewed(1) }), await corner.node([line], { world: skewed(-1) })];
    const round = () => Promise.all(nodes.map((node) => node.round()));
    await corner.pass(9 * MINUTE);
    await round();
    expect(await corner.windows()).toEqual([]);
    await corner.pass(MINUTE + 250);
    await round();
    expect(await corner.ticks()).toEqual([
      { type: "cron", window: iso(start + 10 * MINUTE), at: iso(start + 10 * MINUTE + 250) },
    ]);
  });

  test("a new schedule starts nothing for the past; an interval keeps its anchor over restarts", async () => {
    const corner = await at("2026-05-01T10:00:00.250Z");
    const start = corner.now;
    await corner.node([every("1h")]);
    await corner.pass(59 * MINUTE);
    const again = await corner.node([every("1h")]);
    expect(await corner.windows()).toEqual([]);
    expect(await again.round()).toBe(MINUTE);
    await corner.pass(MINUTE);
    await again.round();
    await corner.pass(60 * MINUTE);
    await (await corner.node([every("1h")])).round();
    expect(await corner.windows()).toEqual([iso(start + 60 * MINUTE), iso(start + 120 * MINUTE)]);
  });

  test("another catch-up policy is the same schedule; another rhythm is a new one", async () => {
    const corner = await at("2026-05-01T10:00:00Z");
    const start = corner.now;
    await corner.node([every("2m", { catchUp: "none" })]);
    await corner.pass(7 * MINUTE);
    const changed = await corner.node([every("2m", { catchUp: "all" })]);
    await changed.round();
    expect(await corner.windows()).toEqual([2, 4, 6].map((minute) => iso(start + minute * MINUTE)));
    await corner.node([every("3m")]);
    const { schedules } = await corner.store.schedules.list(corner.env);
    expect(schedules.map(({ key, anchor }) => [key, anchor])).toEqual([
      ["every 2m", start],
      ["every 3m", start + 7 * MINUTE],
    ]);
  });

  test("a schedule that a deployment dropped is removed when no node declares it any more, and not before", async () => {
    const corner = await at("2026-05-01T10:00:00Z");
    const old = await corner.node([every("1h")]);
    const next = await corner.node([]);
    const keys = async () => (await corner.store.schedules.list(corner.env)).schedules.map(({ key }) => key);
    await corner.pass(REMOVE_AFTER_MS);
    await old.declare(REMOVE_AFTER_MS);
    await next.declare(REMOVE_AFTER_MS);
    expect(await keys()).toEqual(["every 1h"]);
    await corner.pass(REMOVE_AFTER_MS - 1);
    await next.declare(REMOVE_AFTER_MS);
    expect(await keys()).toEqual(["every 1h"]);
    await corner.pass(1);
    await next.declare(REMOVE_AFTER_MS);
    expect(await keys()).toEqual([]);
    // Declared again, it begins from the start.
    await (await corner.node([every("1h", { catchUp: "all" })])).round();
    expect(await corner.windows()).toEqual([]);
  });

  describe("an actor on two stacks", () => {
    const stacks = async (corner: Corner) =>
      (await corner.store.runs.list({ env: corner.env }, { limit: 10 })).runs.map(({ group }) => group.stack);

    for (const [name, trigger] of [
      ["an interval, although the second stack came later", every("1m")],
      ["a cron line", cron("* * * * *")],
    ] as const) {
      test(`${name}: each window has one run for the env, and any stack may take it`, async () => {
        const corner = await at("2026-05-01T10:00:00Z");
        const start = corner.now;
        const blue = await corner.node([trigger], { stack: "blue" });
        await corner.pass(30 * SECOND);
        const green = await corner.node([trigger], { stack: "green" });
        await corner.pass(30 * SECOND);
        for (const node of [blue, green, blue]) await node.round();
        await corner.pass(MINUTE);
        for (const node of [green, blue, green]) await node.round();
        expect(await corner.windows()).toEqual([iso(start + MINUTE), iso(start + 2 * MINUTE)]);
        expect(await stacks(corner)).toEqual([null, null]);
        expect((await corner.store.schedules.list(corner.env)).schedules).toHaveLength(1);
      });
    }

    test('with per: "stack" each of them fires for itself, each window once', async () => {
      const corner = await at("2026-05-01T10:00:00Z");
      const trigger = every("1m", { per: "stack" });
      const [blue, green] = [
        await corner.node([trigger], { stack: "blue" }),
        await corner.node([trigger], { stack: "green" }),
      ];
      await corner.pass(MINUTE);
      for (const node of [blue, green, blue]) await node.round();
      expect((await stacks(corner)).sort()).toEqual(["blue", "green"]);
    });

    test("when one of them drops the schedule, it stays for the other; dropped by both, it is removed", async () => {
      const corner = await at("2026-05-01T10:00:00Z");
      const blue = await corner.node([every("1m")], { stack: "blue" });
      const [without, alsoWithout] = [
        await corner.node([], { stack: "green" }),
        await corner.node([], { stack: "blue" }),
      ];
      const left = async () => (await corner.store.schedules.list(corner.env)).schedules.length;
      await corner.pass(REMOVE_AFTER_MS);
      await blue.declare(REMOVE_AFTER_MS);
      await without.declare(REMOVE_AFTER_MS);
      expect(await left()).toBe(1);
      await corner.pass(REMOVE_AFTER_MS);
      await alsoWithout.declare(REMOVE_AFTER_MS);
      expect(await left()).toBe(0);
    });

    test('from one for the env to per: "stack": the old one goes when no node declares it', async () => {
      const corner = await at("2026-05-01T10:00:00Z");
      await corner.node([every("1m")], { stack: "blue" });
      const changed = await corner.node([every("1m", { per: "stack" })], { stack: "blue" });
      await corner.pass(REMOVE_AFTER_MS);
      await changed.declare(REMOVE_AFTER_MS);
      const { schedules } = await corner.store.schedules.list(corner.env);
      expect(schedules.map(({ group }) => group.stack)).toEqual(["blue"]);
    });
  });

  test("a paused schedule fires nothing; resumed, it catches up by its policy", async () => {
    const expected: Record<CatchUp, number[]> = { none: [], last: [6], all: [2, 4, 6] };
    for (const catchUp of ["none", "last", "all"] as const) {
      const corner = await at("2026-05-01T10:00:00Z");
      const start = corner.now;
      const node = await corner.node([every("2m", { catchUp })]);
      await corner.store.schedules.pause(corner.env, "report", "ann");
      await corner.pass(7.5 * MINUTE);
      expect(await node.round()).toBeNull();
      expect(await corner.windows()).toEqual([]);
      await corner.store.schedules.resume(corner.env, "report");
      await node.round();
      expect(await corner.windows()).toEqual(expected[catchUp].map((minute) => iso(start + minute * MINUTE)));
    }
  });

  test("a cron line whose years have passed is never due, and is not polled again", async () => {
    const corner = await at("2026-05-01T10:00:00Z");
    const node = await corner.node([cron("0 0 0 1 1 * 2021")]);
    expect(await node.round()).toBeNull();
    await corner.pass(400 * 24 * 60 * MINUTE);
    expect(await node.round()).toBeNull();
    const { schedules } = await corner.store.schedules.list(corner.env);
    expect(schedules).toMatchObject([{ next: null }]);
    expect(await corner.windows()).toEqual([]);
  });

  test("a window that was decided stays decided when its row is set back: its key is taken", async () => {
    const corner = await at("2026-05-01T10:00:00Z");
    const node = await corner.node([every("1m")]);
    await corner.pass(MINUTE);
    await node.round();
    const [row] = (await corner.store.schedules.list(corner.env)).schedules;
    const { id: scheduleId, last, anchor } = row!;
    await corner.store.schedules.fire([{ scheduleId, seenLast: last, last: anchor, next: anchor, runs: [] }]);
    await node.round();
    expect(await corner.windows()).toEqual([iso(anchor + MINUTE)]);
  });

  test("a fire is reported by the one node that made it, with its windows and how late it was", async () => {
    const corner = await at("2026-05-01T10:00:00Z");
    const start = corner.now;
    const nodes = [await corner.node([every("1m")]), await corner.node([every("1m")])];
    await corner.pass(MINUTE + 40);
    await Promise.all(nodes.map((node) => node.round()));
    const { runs } = await corner.store.runs.list({ env: corner.env }, { limit: 10 });
    expect(corner.told.filter(({ name }) => name !== "schedule.lost")).toEqual([
      {
        name: "schedule.fired",
        program: "report",
        schedule: "every 1m",
        windows: [iso(start + MINUTE)],
        runIds: [runs[0]!.id],
        lateMs: 40,
      },
    ]);
  });
});

test("a node that another one was faster than reports the window and its key, and starts nothing", async () => {
  const told: unknown[] = [];
  const start = Date.parse("2026-05-01T10:00:00Z");
  const group = { env: "test", stack: null, queue: "report", program: "report", version: null };
  const row = {
    id: "1",
    group,
    key: "every 1m",
    spec: writeSpec(every("1m").spec as Parameters<typeof writeSpec>[0]),
    anchor: start,
    last: start,
    next: null,
  };
  const scheduler = new Scheduler({
    env: "test",
    stack: null,
    world: systemWorld(),
    modes: new Modes(),
    bus: { emit: (name: string, facts: object) => told.push({ name, ...facts }) },
    breakers: {},
    newRun: () => ({ id: "run", group }),
    programs: [
      { name: "report", queue: "report", version: null, limits: [], breaker: null, triggers: [every("1m").spec] },
    ],
    store: {
      declare: async () => ["1"],
      due: async () => ({ now: start + MINUTE, schedules: [row], nextMs: null }),
      fire: async () => [{ outcome: "moved" }],
    },
  } as unknown as ConstructorParameters<typeof Scheduler>[0]);
  await scheduler.declare(null);
  await scheduler.round();
  const window = iso(start + MINUTE);
  const lost = { program: "report", schedule: "every 1m", windows: [window], keys: [`schedule:every 1m:${window}`] };
  expect(told).toEqual([{ name: "schedule.lost", ...lost }]);
});

test("a program that lists a schedule twice, or limits its runs by input that a schedule does not have, is rejected", () => {
  const make = (more: object) =>
    new Scheduler({
      env: "test",
      stack: null,
      world: systemWorld(),
      modes: new Modes(),
      programs: [{ name: "p", queue: "p", version: null, limits: [], triggers: [every("1s").spec], ...more }],
    } as unknown as ConstructorParameters<typeof Scheduler>[0]);
  const twice = [every("60s").spec, every("1m", { catchUp: "all" }).spec];
  expect(() => make({ triggers: twice })).toThrow('has "every 1m" twice');
  const limits = [{ kind: "serial", path: ["customer"], max: 1, perMs: null }];
  expect(() => make({ limits })).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  expect(() => make({})).not.toThrow();
});

// Limits, priority, timeouts and plans of single tasks, and backfills, on both stores.

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { dag } from "../../src/dag/dag.js";
import { each, task } from "../../src/dag/task.js";
import { noneFailed } from "../../src/dag/when.js";
import { signal } from "../../src/index.js";
import { createNode } from "../../src/node/create-node.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { open as openVirtual } from "../machine/virtual-node.js";
import { onBothStores } from "../workflow/node-suite.js";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Counts how many are at work at once, by name. */
function gauge() {
  const now: Record<string, number> = {};
  const most: Record<string, number> = {};
  const enter = async (name: string) => {
    now[name] = (now[name] ?? 0) + 1;
    most[name] = Math.max(most[name] ?? 0, now[name]);
    await pause(20);
    now[name]--;
  };
  return { most, enter };
}

onBothStores(
  (bench) => {
    test("a task's concurrency counts in all runs of its DAG, per value of the input where it has a key; items count, too", async () => {
      const { most, enter } = gauge();
      const narrow = task({ concurrency: 1 }, async (_ctx, _input: { customer: string }) => enter("narrow"));
      const keyed = task(
        { concurrency: { key: "customer", limit: 1 } },
        async (_ctx, { customer }: { customer: string }) => enter(customer),
      );
      const items = each({ over: () => [1, 2], concurrency: 2 }, async () => enter("items"));
      const limited = dag("limited", { narrow, keyed, items });
      const node = await bench.open({ programs: [limited], concurrency: 30 });
      const runs = await Promise.all(["a", "a", "b", "b"].map((customer) => node.start(limited, { customer })));
      await Promise.all(runs.map((run) => run.result()));
      expect(most).toMatchObject({ narrow: 1, a: 1, b: 1 });
      expect(most["items"]).toBeLessThanOrEqual(2);
    });

    test("an input without the key of a task's limit fails the run before anything begins", async () => {
      let begun = 0;
      const first = task(async () => ++begun);
      const keyed = task({ serial: "customer.id" }, async () => ++begun);
      const missing = dag("missing-key", { first, keyed });
      const node = await bench.open({ programs: [missing] });
      await expect((await node.start(missing)).result()).rejects.toMatchObject({ cause: { code: "INVALID_INPUT" } });
      expect(begun).toBe(0);
    });

    test("a rate spreads the starts of a task, and a priority of its own goes before that of the run", async () => {
      const begun: number[] = [];
      const slow = task({ rate: { limit: 10, per: "1s" }, priority: -3 }, async () => void begun.push(Date.now()));
      const spread = dag("spread", { slow });
      const node = await bench.open({ programs: [spread] });
      const runs = await Promise.all([1, 2, 3].map(() => node.start(spread, undefined, { priority: 4 })));
      await Promise.all(runs.map((run) => run.result()));
      expect(begun[2]! - begun[0]!).toBeGreaterThanOrEqual(150);
      const [only] = await runs[0]!.tasks();
      expect(only!.run.priority).toBe(-3);
    });

    test("an attempt that ignores its timeout's abort ends before the next one begins, unless they may overlap", async () => {
      const now: Record<string, number> = {};
      const most: Record<string, number> = {};
      const work = async (name: string, attempt: number, ms: number) => {
        now[name] = (now[name] ?? 0) + 1;
        most[name] = Math.max(most[name] ?? 0, now[name]);
        if (attempt < 3) await pause(ms);
        now[name]--;
        return attempt;
      };
      // More attempts than needed: on a busy machine one that does not pause may time out, too.
      const timed = { timeout: 60, retry: { attempts: 30, delay: 1 } } as const;
      const alone = task(timed, async (ctx) => work("alone", ctx.attempt, 200));
      const inStep = task(timed, async (ctx) => ctx.step("work", () => work("inStep", ctx.attempt, 200)));
      const overlaps = task({ ...timed, overlap: true }, async (ctx) => work("overlaps", ctx.attempt, 1_000));
      const late = dag("ignores-abort", { alone, inStep, overlaps });
      const node = await bench.open({ programs: [late] });
      const attempts = await (await node.start(late)).result();
      for (const task of ["alone", "inStep", "overlaps"] as const) expect(attempts[task]).toBeGreaterThanOrEqual(3);
      expect(most).toMatchObject({ alone: 1, inStep: 1 });
      expect(most["overlaps"]).toBeGreaterThan(1);
    });

    test("a backfill starts one run per interval, a bounded number at a time, and the same call again continues it", async () => {
      const { most, enter } = gauge();
      const days: string[] = [];
      const load = task(async (_ctx, { day }: { day: string }) => {
        days.push(day);
        await enter("load");
        if (day === "2026-01-03" && days.filter((one) => one === day).length === 1) throw new Error("no file");
      });
      const etl = dag("etl-fill", { load: load });
      const node = await bench.open({ programs: [etl], concurrency: 20 });
      const options = {
        name: "january",
        from: "2026-01-01",
        to: "2026-01-06",
        every: "1d",
        input: (from: Date) => ({ day: from.toISOString().slice(0, 10) }),
        concurrency: 2,
      } as const;
      const fill = await node.backfill(etl, options);
      const seen: number[] = [];
      const done = await fill.finished({ onProgress: ({ ended }) => seen.push(ended) });
      expect(done).toMatchObject({ total: 5, ended: 5, states: { completed: 5 }, troubled: [] });
      expect(seen.at(-1)).toBe(5);
      expect(most["load"]).toBeLessThanOrEqual(2);
      const again = await createClient<[typeof etl]>({ store: bench.store }).backfill("etl-fill", options);
      expect(again.intervals).toEqual(fill.intervals);
      const other = { ...options, input: () => ({ day: "other" }) };
      await expect(node.backfill(etl, other)).rejects.toMatchObject({ code: "BACKFILL_REFUSED" });
      await expect(node.backfill(etl, { ...options, to: "2025-01-01" })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
    });
  },
  { perTest: true },
);

test("a task whose timeout passes while the result of its last step is written is tried again", async () => {
  const store = memoryStore();
  let slow = true;
  const commit: Store["runs"]["commit"] = async (commits) => {
    const isSlow = slow && commits.some(({ effects }) => effects.some(({ kind }) => kind === "append"));
    if (isSlow) await pause(200);
    slow &&= !isSlow;
    return store.runs.commit(commits);
  };
  const stepped = task({ timeout: 60, retry: { attempts: 5, delay: 1 } }, (ctx) => ctx.step("work", () => ctx.attempt));
  const late = dag("late-write", { stepped });
  await using node = await createNode({ store: { ...store, runs: { ...store.runs, commit } }, programs: [late] });
  expect(await (await node.start(late)).result({ timeout: "5s" })).toEqual({ stepped: 1 });
});

test("the timeout of a task counts its waits, and not the time in which it was paused or its process was dead", async () => {
  const MINUTE = 60_000;
  const world = new VirtualWorld();
  let tries = 0;
  const works = task({ timeout: "1m", retry: 1 }, async (ctx, { napFirst }: { napFirst: boolean }) => {
    await ctx.step("first", () => 1);
    if (napFirst) await ctx.sleep("nap", "15s");
    if (++tries > 1)
      return ctx.step("second", () => new Promise((resolve) => world.after(10_000, () => resolve("done"))));
    return new Promise<never>((_, reject) => {
      ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
    });
  });
  const waits = task({ timeout: "1m", retry: 1 }, async (ctx) => {
    for (let i = 0; i < 10; i++) await ctx.sleep(`nap ${i}`, "15s");
  });
  const listens = task({ timeout: "1m", retry: 1 }, (ctx) => ctx.waitFor(signal<undefined>("never")));
  const [paused, slept, silent] = [dag("paused-work", { works }), dag("slept", { waits }), dag("silent", { listens })];
  const { node, done } = await openVirtual([paused, slept, silent], world);
  for (const napFirst of [false, true]) {
    tries = 0;
    const run = await done(node.start(paused, { napFirst }));
    while (tries === 0) await world.advance(10);
    await done(run.pause());
    await world.advance(10 * MINUTE);
    await done(run.resume());
    expect(await done(run.result())).toEqual({ works: "done" });
  }
  for (const program of [slept, silent]) {
    const late = await done(node.start(program as typeof slept));
    await expect(done(late.result())).rejects.toMatchObject({ cause: { errors: [{ code: "TASK_TIMEOUT" }] } });
  }
});

test("a plan says which tasks a run would execute, in which order and with which limits", () => {
  interface Size {
    size: number;
  }
  const list = task({ retry: 5, timeout: "1m" }, async (_ctx, _input: Size) => [1]);
  const big = task({ when: (_outcomes, { size }: Size) => size > 1, concurrency: 2 }, async (_ctx, _input: Size) => 1);
  const behind = task({ needs: { big } }, async () => 1);
  const join = task({ needs: { list, behind }, when: noneFailed(), queue: "joins" }, async () => 1);
  const value = task(
    { needs: { list }, when: ({ list }) => list.state === "succeeded" && list.value.length > 1 },
    async () => 1,
  );
  const planned = dag("planned", { list, big, behind, join, value });
  const runs = (size: number) => Object.fromEntries(planned.plan({ size }).map(({ task, runs }) => [task, runs]));
  expect(runs(1)).toEqual({ list: true, big: false, behind: false, join: true, value: null });
  expect(runs(2)).toEqual({ list: true, big: true, behind: true, join: true, value: null });
  expect(planned.plan({ size: 1 })).toMatchObject([
    { task: "list", level: 0, attempts: 5, timeoutMs: 60_000, queue: "planned::list", limits: [] },
    { task: "big", level: 0, limits: [{ kind: "slots", max: 2 }] },
    { task: "behind", level: 1, needs: ["big"] },
    { task: "value", level: 1 },
    { task: "join", level: 2, queue: "joins" },
  ]);
});

test("a node that serves the tasks of a DAG and not its own run says at its start why nothing begins", async () => {
  const ml = dag("ml", { train: task(async () => 1) });
  await using node = await createNode({ store: memoryStore(), programs: [ml], flow: { serve: ["ml::*"] } });
  expect(node.warnings.join("\n")).toMatch(/tasks it serves begin only where ml is served: add "ml" to flow.serve/);
});

// Failures around an episode affect only it, and are reported: failed inits, strategies that no node has, breakers, orphans
// in DAGs, cancelled and queued work.

import { beforeAll, expect, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { episode } from "../../src/actor/episode-task.js";
import { expectation } from "../../src/actor/expectation.js";
import { strategy } from "../../src/actor/strategy.js";
import { dag } from "../../src/dag/dag.js";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { event, on } from "../../src/trigger/event.js";
import { quarantinedWith } from "../harness/quarantined.js";
import { onBothStores } from "../workflow/node-suite.js";

const wait = { timeout: 10_000 };
const go = signal("go");
const broke = event<{ n: number }>()("it broke");

onBothStores((bench) => {
  let fails = true;
  const done: string[] = [];
  const open: (() => void)[] = [];
  const saved = { at: new Date(5), seen: new Map([["a", 1n]]), missing: undefined as string | undefined };
  const troubled = actor("troubled", {
    expectations: {
      start: expectation(
        { retry: 1 },
        strategy({
          steps: {},
          init: (): number => {
            throw new TypeError("no start");
          },
          next: () => ({ do: "done", result: 1 }),
          handle: (state) => state,
        }),
      ),
      exact: expectation(
        strategy({
          steps: {},
          signals: { go },
          init: () => ({ ...saved, step: 0 }),
          next: ({ step, ...state }) =>
            step === 0
              ? { do: "checkpoint" }
              : step === 1
                ? { do: "wait", name: "go" }
                : {
                    do: "done",
                    result: { ...state, isDate: state.at instanceof Date, isMap: state.seen instanceof Map },
                  },
          handle: (state) => ({ ...state, step: state.step + 1 }),
        }),
      ),
      guarded: expectation(
        { on: [on(broke)], retry: 1, circuitBreaker: { threshold: 2, halfOpenAfter: 200 } },
        async (ctx) =>
          ctx.step("try", () => {
            if (fails) throw new Error("no");
          }),
      ),
    },
  });
  const line = actor("line", {
    concurrency: 1,
    expectations: {
      work: expectation(async (ctx, name: string) =>
        ctx.step("work", async () => {
          done.push(name);
          await new Promise<void>((resolve) => open.push(resolve));
        }),
      ),
    },
  });
  let node: Node;
  beforeAll(async () => {
    node = await bench.open({ programs: [troubled, line] });
  });
  const { start, exact, guarded } = troubled.expectations;

  test("an episode whose init throws fails alone; the class of the error is reported", async () => {
    const told: object[] = [];
    const off = node.on("run.settled", ({ runId, as, error, kind, ms }) => told.push({ runId, as, error, kind, ms }));
    const run = await node.start(start, undefined as never);
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ cause: { name: "TypeError" } });
    expect(told).toEqual([
      { runId: run.id, as: "failed", error: "TypeError", kind: "episode", ms: expect.any(Number) },
    ]);
    off();
  });

  test("a checkpoint preserves a state exactly: dates, maps, bigints, undefined fields", async () => {
    const run = await node.start(exact, undefined as never);
    await expect.poll(async () => (await run.status()).state, wait).toBe("parked");
    await run.signal(go);
    expect(await run.result({ timeout: "10s" })).toEqual({ ...saved, isDate: true, isMap: true });
  });

  test("a breaker opens after failures in a row, lets one try, and closes when that succeeds", async () => {
    const told: string[] = [];
    for (const name of ["breaker.opened", "breaker.half_opened", "breaker.closed", "event.rejected"] as const)
      node.on(name, ({ program }) => program === guarded.name && told.push(name));
    for (const n of [1, 2]) {
      const [begun] = (await node.emit(broke, { n })).runs;
      await expect(node.run(begun!.runId!).result({ timeout: "10s" })).rejects.toMatchObject({ state: "failed" });
    }
    await expect.poll(() => told, wait).toContain("breaker.opened");
    expect((await node.emit(broke, { n: 3 })).runs).toMatchObject([{ outcome: "rejected" }]);
    fails = false;
    const tries = async () => (await node.emit(broke, { n: 3 })).runs[0]!;
    await expect.poll(async () => (await tries()).outcome, wait).not.toBe("rejected");
    await expect.poll(() => told, wait).toContain("breaker.closed");
    expect(new Set(told)).toEqual(
      new Set(["breaker.opened", "event.rejected", "breaker.half_opened", "breaker.closed"]),
    );
  });

  test("queued episodes survive their node, and an episode cancelled in the queue never begins", async () => {
    done.length = 0;
    const place = { env: "queue", programs: [line] };
    const one = await bench.open(place);
    const [first, cancelled, queued] = [
      await one.start(line.expectations.work, "first"),
      await one.start(line.expectations.work, "cancelled"),
      await one.start(line.expectations.work, "queued"),
    ];
    await expect.poll(() => open.length, wait).toBe(1);
    await cancelled.cancel();
    const stopped = one.stop();
    open.shift()!();
    await stopped;
    expect((await queued.status()).state).toMatch(/held|waiting/);
    const two = await bench.open(place);
    await expect.poll(() => open.length, wait).toBe(1);
    open.shift()!();
    await two.run(queued.id).result({ timeout: "10s" });
    expect([await first.status(), await cancelled.status()]).toMatchObject([
      { state: "completed" },
      { state: "cancelled" },
    ]);
    expect(done).toEqual(["first", "queued"]);
    await two.stop();
  });

  test("a start with a key that is taken is reported", async () => {
    const told: string[] = [];
    const off = node.on("run.deduplicated", ({ runId }) => told.push(runId));
    const options = { key: "once" };
    const first = await node.start(exact, undefined as never, options);
    expect((await node.start(exact, undefined as never, options)).id).toBe(first.id);
    expect(told).toEqual([first.id]);
    off();
    await first.cancel();
  });

  test("an episode of a DAG that ends as orphaned fails its task, and the reclaim reports it", async () => {
    const lost = actor("lost", {
      expectations: {
        work: expectation({ recovery: "fail" }, async (ctx, _input: null) => {
          await ctx.step("hang", () => {
            done.push("hangs");
            return new Promise<never>(() => {});
          });
        }),
      },
    });
    const whole = dag("whole", { one: episode(lost.expectations.work, { input: () => null }) });
    const place = { env: "orphans", programs: [lost, whole] };
    const swept: object[] = [];
    const dies = await bench.open({ ...place, timing: { lease: 300, renewEvery: 250 } });
    const run = await dies.start(whole);
    await expect.poll(() => done, wait).toContain("hangs");
    // Its work ignores the abort: the run is left to its lease, as after a crash.
    await dies.stop({ grace: 10 });
    const other = await bench.open(place);
    other.on("recovery.sweep", ({ restarted, failed, skipped }) => swept.push({ restarted, failed, skipped }));
    await expect(other.run(run.id).result({ timeout: "20s" })).rejects.toMatchObject({ cause: { code: "DAG_FAILED" } });
    expect(swept).toEqual([{ restarted: 0, failed: 1, skipped: 0 }]);
    await other.stop();
  });

  test("an episode whose strategy no node has is quarantined, and continues when a node has it again", async () => {
    const slow = { slow: async (ctx: never) => (ctx as { waitFor: (s: typeof go) => Promise<void> }).waitFor(go) };
    const knows = await bench.open({ env: "unknown", programs: [], definitions: { strategies: slow as never } });
    const loaded = new Promise<void>((resolve) => knows.on("definition.loaded", () => resolve()));
    await knows.definitions.save("watcher", { expectations: { watch: { strategy: "slow" } } });
    await loaded;
    const run = await knows.start(await knows.definitions.program("watcher::watch"), null);
    await expect.poll(async () => (await run.status()).state, wait).toBe("parked");
    await knows.definitions.save("watcher", { expectations: { watch: { strategy: "other" } } });
    await knows.stop();
    const other = await bench.open({
      env: "unknown",
      programs: [],
      definitions: { strategies: { other: async () => {} } },
    });
    await other.run(run.id).signal(go);
    await expect.poll(() => quarantinedWith(bench.store, run.id), { timeout: 10_000 }).toBe("STRATEGY_UNKNOWN");
    await other.stop();
    const again = await bench.open({
      env: "unknown",
      programs: [],
      definitions: { strategies: { ...slow, other: async () => {} } as never },
    });
    await again.run(run.id).result({ timeout: "10s" });
    await again.stop();
  });
});

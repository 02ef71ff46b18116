// The limit of an actor and the policies for episodes beyond it, on both stores and however they are started.

import { expect, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

const go = signal("go");

onBothStores((bench) => {
  let names = 0;
  /** An actor of its own for each test, whose episodes work until the test releases them. */
  const scene = (options: { concurrency: number; overflow?: "drop" | "shed-oldest"; serial?: boolean }) => {
    const { serial = false, ...limits } = options;
    const name = `busy-${++names}`;
    const moved = event<{ resource: string; n: number }>()(`moved-${name}`);
    const open: (() => void)[] = [];
    let atWork = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++atWork);
      await new Promise<void>((resolve) => open.push(resolve));
      atWork--;
    };
    const busy = actor(name, {
      ...limits,
      expectations: {
        first: expectation(
          { on: [on(moved, { subject: "resource" })], ...(serial && { serial: "subject" }) },
          async (ctx) => ctx.step("work", work),
        ),
        second: expectation(async (ctx, n: number) => {
          await ctx.step("work", work);
          return n;
        }),
        waits: expectation(async (ctx) => {
          await ctx.waitFor(go);
          await ctx.step("work", work);
        }),
      },
    });
    const states = async (node: Node, ids: readonly string[]) =>
      Promise.all(ids.map(async (id) => (await node.run(id).status()).state));
    return { busy, moved, open, states, most: () => most, name };
  };

  test("the limit applies to all expectations together, including calls and children", async () => {
    const { busy, moved, open, most } = scene({ concurrency: 2 });
    const parent = workflow(`parent-${names}`, async (ctx) => ctx.child(busy.expectations.second, 7));
    const nodes = [await bench.open({ programs: [busy, parent] }), await bench.open({ programs: [busy, parent] })];
    const [node] = nodes as [Node];
    const runs = [
      ...(await Promise.all([1, 2, 3].map((n) => node.start(busy.expectations.second, n)))),
      await node.start(parent),
    ];
    for (const n of [1, 2, 3]) {
      const { runs: emitted } = await nodes[1]!.emit(moved, { resource: "r", n });
      runs.push(...emitted.map(({ runId }) => node.run<never>(runId!)));
    }
    for (let ended = 0; ended < 7; ended++) {
      await expect.poll(() => open.length, { timeout: 10_000 }).toBeGreaterThan(0);
      open.shift()!();
    }
    await Promise.all(runs.map((run) => run.result({ timeout: "10s" })));
    expect(most()).toBe(2);
    await Promise.all(nodes.map((one) => one.stop()));
  });

  test("drop: a trigger beyond the limit is skipped, with a reason, and an event reports it", async () => {
    const { busy, moved, open, states, name } = scene({ concurrency: 1, overflow: "drop" });
    const node = await bench.open({ programs: [busy] });
    const told: unknown[] = [];
    node.on("run.overflowed", (facts) => told.push(facts));
    const emitted = [];
    for (const n of [1, 2, 3]) {
      emitted.push((await node.emit(moved, { resource: "r", n })).runs[0]!.runId!);
      await expect.poll(() => open.length, { timeout: 5_000 }).toBe(1);
    }
    const called = await node.start(busy.expectations.second, 1);
    await expect(called.result({ timeout: "5s" })).rejects.toMatchObject({
      state: "skipped",
      cause: { code: "OVERFLOW" },
    });
    expect(await states(node, emitted)).toEqual(["running", "skipped", "skipped"]);
    open.shift()!();
    await node.run(emitted[0]!).result({ timeout: "5s" });
    const next = await node.emit(moved, { resource: "r", n: 4 });
    await expect.poll(() => open.length, { timeout: 5_000 }).toBe(1);
    open.shift()!();
    await node.run(next.runs[0]!.runId!).result({ timeout: "5s" });
    const program = `${name}::first`;
    const mine = told.filter((facts) => (facts as { program: string }).program === program);
    expect(mine).toMatchObject(emitted.slice(1).map((runId) => ({ runId, program, overflow: "drop" })));
    await node.stop();
  });

  test("the limit is counted in the store: two nodes that define the actor in their own code share it", async () => {
    const name = `shared-${++names}`;
    const open: (() => void)[] = [];
    const own = () => {
      const work = () => new Promise<void>((resolve) => open.push(resolve));
      const options = { concurrency: 1, overflow: "drop" } as const;
      return actor(name, { ...options, expectations: { first: expectation(async (ctx) => ctx.step("work", work)) } });
    };
    const [mine, yours] = [own(), own()];
    const nodes = [await bench.open({ programs: [mine] }), await bench.open({ programs: [yours] })] as const;
    const first = await nodes[0].start(mine.expectations.first);
    await expect.poll(() => open.length, { timeout: 5_000 }).toBe(1);
    const second = await nodes[1].start(yours.expectations.first);
    await expect(second.result({ timeout: "5s" })).rejects.toMatchObject({ state: "skipped" });
    open.shift()!();
    await first.result({ timeout: "5s" });
    await Promise.all(nodes.map((one) => one.stop()));
  });

  test("shed-oldest: the newest wait, and never more than may be at work", async () => {
    const { busy, moved, open, states } = scene({ concurrency: 2, overflow: "shed-oldest" });
    const node = await bench.open({ programs: [busy] });
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) {
      ids.push((await node.emit(moved, { resource: "r", n })).runs[0]!.runId!);
      await expect.poll(() => open.length, { timeout: 5_000 }).toBe(Math.min(n + 1, 2));
    }
    const shed = ["skipped", "skipped", "skipped", "skipped"];
    expect(await states(node, ids)).toEqual(["running", "running", ...shed, "held", "held"]);
    for (let ended = 0; ended < 4; ended++) {
      await expect.poll(() => open.length, { timeout: 5_000 }).toBeGreaterThan(0);
      open.shift()!();
    }
    for (const i of [0, 1, 6, 7]) await node.run(ids[i]!).result({ timeout: "5s" });
    await node.stop();
  });

  test("a waiting episode occupies no place, and is not dropped when it resumes and the actor is full", async () => {
    const { busy, open, states } = scene({ concurrency: 1, overflow: "drop" });
    const node = await bench.open({ programs: [busy] });
    const waiting = await node.start(busy.expectations.waits);
    await expect.poll(async () => (await waiting.status()).state, { timeout: 5_000 }).toBe("parked");
    const other = await node.start(busy.expectations.second, 1);
    await expect.poll(() => open.length, { timeout: 5_000 }).toBe(1);
    await waiting.signal(go, undefined);
    await expect.poll(() => states(node, [waiting.id]), { timeout: 5_000 }).toEqual(["held"]);
    const fresh = await node.start(busy.expectations.second, 2);
    expect(await states(node, [waiting.id, fresh.id])).toEqual(["held", "skipped"]);
    open.shift()!();
    await other.result({ timeout: "5s" });
    await expect.poll(() => open.length, { timeout: 5_000 }).toBe(1);
    open.shift()!();
    await waiting.result({ timeout: "5s" });
    await node.stop();
  });

  test("an episode whose node died is never dropped: it continues when a place is free", async () => {
    const { busy, open, states } = scene({ concurrency: 1, overflow: "drop" });
    const dies = await bench.open({ programs: [busy], timing: { lease: 300, renewEvery: 250 } });
    const run = await dies.start(busy.expectations.second, 5);
    await expect.poll(() => open.length, { timeout: 5_000 }).toBe(1);
    await dies.stop({ grace: 10 });
    const other = await bench.open({ programs: [busy] });
    await expect.poll(() => open.length, { timeout: 10_000 }).toBe(2);
    expect(await states(other, [run.id])).toEqual(["running"]);
    for (const release of open) release();
    expect(await other.run(run.id).result({ timeout: "5s" })).toBe(5);
    await other.stop();
  });

  test('serial "subject": one episode of a subject at a time, in order, beside those of others', async () => {
    const { busy, moved, open, states } = scene({ concurrency: 5, serial: true });
    const node = await bench.open({ programs: [busy] });
    const ids: string[] = [];
    for (const [resource, n] of [
      ["a", 1],
      ["a", 2],
      ["b", 1],
    ] as const)
      ids.push((await node.emit(moved, { resource, n })).runs[0]!.runId!);
    await expect.poll(() => open.length, { timeout: 5_000 }).toBe(2);
    expect(await states(node, ids)).toEqual(["running", "held", "running"]);
    for (let ended = 0; ended < 3; ended++) {
      await expect.poll(() => open.length, { timeout: 5_000 }).toBeGreaterThan(0);
      open.shift()!();
    }
    for (const id of ids) await node.run(id).result({ timeout: "5s" });
    await node.stop();
  });
});

test("an actor that cannot work is rejected where it is defined", () => {
  const one = expectation(async () => 1);
  const bad: [() => unknown, string][] = [
    [() => actor("a", { expectations: {} }), "expectations"],
    [() => actor("a b", { expectations: { one } }), "actor name"],
    [() => actor("a", { expectations: { "no name": one } }), "expectations.no name"],
    [() => actor("a", { concurrency: 0, expectations: { one } }), "concurrency"],
    [() => actor("a", { overflow: "drop", expectations: { one } }), "overflow"],
    [
      () => actor("a", { expectations: { x: expectation({ serial: "subject" }, async () => 1) } }),
      "expectations.x.serial",
    ],
    [
      () => actor("a", { expectations: { x: expectation({ budget: { turns: 0 } }, async () => 1) } }),
      "expectations.x.budget.turns",
    ],
    [
      () => actor("a", { expectations: { x: expectation({ budget: { timeout: 0 } }, async () => 1) } }),
      "expectations.x.budget.timeout",
    ],
  ];
  for (const [define, path] of bad) {
    expect(define, path).toThrow(expect.objectContaining({ code: "INVALID_INPUT", path }));
  }
});

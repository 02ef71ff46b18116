// The loop that counts figures: every ten seconds, one node of an env at a time, rarer when it is slow.

import { expect, test } from "vitest";
import { Modes } from "../../src/engine/modes.js";
import { startStatistics } from "../../src/engine/upkeep/statistics.js";
import { createNode } from "../../src/node/create-node.js";
import type { CollectRound } from "../../src/store/contract/statistic/statistics.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { workflow } from "../../src/workflow/workflow.js";

function counting(round: (world: VirtualWorld) => Promise<boolean>) {
  const world = new VirtualWorld();
  const calls: { readonly at: number; readonly round: CollectRound }[] = [];
  const failed: unknown[] = [];
  const modes = new Modes();
  const collect = async (asked: CollectRound) => {
    calls.push({ at: world.monotonicNow(), round: asked });
    return round(world);
  };
  const bus = { emit: (_name: string, { error }: { error?: unknown }) => failed.push(error) };
  const loop = startStatistics({ store: { statistics: { collect } }, world, bus: bus as never, env: "mine", modes });
  return { world, calls, failed, modes, loop };
}

test("asks every ten seconds in its own env, and ends with the node", async () => {
  const { world, calls, loop } = counting(async () => true);
  await world.advance(100_000);
  expect(calls.length).toBe(10);
  expect(calls[0]!.round).toEqual({ env: "mine", everyMs: 8_000 });
  await loop.stop();
  expect(world.pendingTimers).toBe(0);
});

test("a slow round makes the next ones rarer, a quick one restores the rhythm", async () => {
  let slow = true;
  const { world, calls } = counting(async (at) => {
    if (slow) await new Promise<void>((resolve) => at.after(500, resolve));
    return true;
  });
  await world.advance(200_000);
  const rare = calls.length;
  expect(rare).toBeLessThanOrEqual(5);
  slow = false;
  await world.advance(400_000);
  expect(calls.length - rare).toBeGreaterThan(20);
});

test("a round that fails is reported and the next one comes; a disabled node counts nothing", async () => {
  const { world, calls, failed, modes } = counting(async () => {
    throw new Error("away");
  });
  await world.advance(30_000);
  expect(failed.length).toBe(calls.length);
  expect(calls.length).toBeGreaterThan(1);
  modes.set({ mode: "disabled", overrides: {}, drain: null });
  const before = calls.length;
  await world.advance(60_000);
  expect(calls.length).toBe(before);
});

test("two nodes of an env: each step is counted by one of them, and the figures hold every run", async () => {
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  const work = workflow("work", async (_, n: number) => {
    if (n % 5 === 0) throw new Error("five");
    return n;
  });
  const starting = ["a", "b"].map((id) => createNode({ store, programs: [work], identity: { id } }, world));
  await world.advance(100);
  const nodes = await Promise.all(starting);
  const from = world.wallNow();
  for (let n = 1; n <= 20; n++) {
    await nodes[n % 2]!.start(work, n);
    await world.advance(2_000);
  }
  await world.advance(40_000);
  const span = { env: "default", from: from - 60_000, to: world.wallNow() };
  const { runs, queues, at } = await store.statistics.figures({ ...span, stepMs: 10_000 });
  const sum = (of: (one: (typeof runs)[number]) => number) => runs.reduce((n, one) => n + of(one), 0);
  expect([sum((one) => one.started), sum((one) => one.completed), sum((one) => one.failed)]).toEqual([20, 16, 4]);
  expect(queues.length).toBeGreaterThan(5);
  expect(world.wallNow() - at!).toBeLessThanOrEqual(10_000);
  const stopping = nodes.map((node) => node.stop());
  await world.advance(5_000);
  await Promise.all(stopping);
});

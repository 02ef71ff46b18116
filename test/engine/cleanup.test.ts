// The clean-up loop: rare, one node of an env at a time, one part after the other, never stopped by a part that fails.

import { expect, test } from "vitest";
import { Modes } from "../../src/engine/modes.js";
import { startCleanup } from "../../src/engine/upkeep/cleanup.js";
import { resolveSettings } from "../../src/kernel/setting/settings.js";
import { createNode } from "../../src/node/create-node.js";
import { CLEAN_PARTS, type Cleaned, type CleanRound } from "../../src/store/contract/cleanup.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { tablesOf } from "../../src/store/memory/table/open-stores.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { workflow } from "../../src/workflow/workflow.js";

const { settings } = resolveSettings({});

function cleanup(answer: (round: CleanRound) => Cleaned | null) {
  const world = new VirtualWorld();
  const calls: { readonly at: number; readonly round: CleanRound }[] = [];
  const failed: unknown[] = [];
  const modes = new Modes();
  const store: Pick<Store, "cleanUp"> = {
    cleanUp: async (round) => {
      calls.push({ at: world.monotonicNow(), round });
      return answer(round);
    },
  };
  const bus = { emit: (_name: string, { error }: { error?: unknown }) => failed.push(error) };
  const options = { store, settings, world, bus: bus as never, env: "mine", modes };
  const loop = startCleanup(options);
  return { world, calls, failed, modes, stop: () => loop.stop() };
}

test("does every part about twice a minute, in its own env, and ends with the node", async () => {
  const { world, calls, stop } = cleanup(() => ({ removed: 0, more: false }));
  await world.advance(20_000);
  expect(calls).toEqual([]);
  await world.advance(580_000);
  const parts = calls.map(({ round }) => round.part);
  expect(new Set(parts)).toEqual(new Set(CLEAN_PARTS));
  expect(parts.length / CLEAN_PARTS.length).toBeGreaterThanOrEqual(15);
  expect(parts.length / CLEAN_PARTS.length).toBeLessThanOrEqual(25);
  expect(new Set(calls.map(({ round }) => round.env))).toEqual(new Set(["mine"]));
  await stop();
  expect(world.pendingTimers).toBe(0);
});

test("goes through a backlog in batches, and leaves the rest to the next round", async () => {
  const { world, calls } = cleanup(({ part }) => ({ removed: 2_000, more: part === "leases" }));
  await world.advance(37_000);
  const leases = calls.filter(({ round }) => round.part === "leases");
  expect(leases.length).toBe(20);
  expect(leases.map(({ round }) => round.everyMs > 0)).toEqual([true, ...Array(19).fill(false)]);
  expect(calls.filter(({ round }) => round.part === "rates").length).toBe(1);
});

test("a part that fails is reported, and the others are done", async () => {
  const { world, calls, failed } = cleanup(({ part }) => {
    if (part === "generations") throw new Error("away");
    return null;
  });
  await world.advance(37_000);
  expect(calls.map(({ round }) => round.part)).toEqual(CLEAN_PARTS);
  expect(failed).toEqual([new Error("away")]);
});

test("a disabled node removes nothing", async () => {
  const { world, calls, modes } = cleanup(() => null);
  modes.set({ mode: "disabled", overrides: {}, drain: null });
  await world.advance(300_000);
  expect(calls).toEqual([]);
});

test("a live run of 300 generations leaves a bounded number of rows without a call of prune", async () => {
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  const laps = workflow("laps", async (ctx, left: number): Promise<string> => {
    for (const name of ["a", "b", "c"]) await ctx.step(name, () => left);
    await ctx.sleep("pause", 1_000);
    return left > 0 ? ctx.continueAsNew(left - 1) : ctx.sleep("for ever", "30d").then(() => "done");
  });
  const starting = createNode({ store, programs: [laps] }, world);
  await world.advance(100);
  const node = await starting;
  const run = await node.start(laps, 300);
  await world.advance(500_000);
  expect((await store.runs.get(run.id))?.generation).toBe(300);
  expect(tablesOf(store).journal.get(run.id)!.size).toBeLessThan(20);
  const stopping = node.stop();
  await world.advance(5_000);
  await stopping;
}, 30_000);

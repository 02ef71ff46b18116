// Every timeout store that we ship keeps the contract (with the whole store in test/conformance); here: the cases find stores
// that do not, and a foreign store without the optional parts may pass.

import { expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { timeoutsConformance } from "../../src/testing/timeouts-conformance.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import type { ClaimedTimeout, TimeoutStore } from "../../src/timeout/timeout-store.js";

async function failing(broken: (good: TimeoutStore, world: VirtualWorld) => Partial<TimeoutStore>): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of timeoutsConformance) {
    const world = new VirtualWorld();
    const good = timeoutStore(memoryStore({ world }), { scope: "order", world });
    const { onScheduled: _on, claims: _claims, ...plain } = good;
    const timeouts = { ...plain, ...broken(good, world) };
    await run({ timeouts, advance: (ms) => world.advance(ms) }).catch(() => failed.push(name));
  }
  return failed;
}

test("the optional parts may be left out, and the next deadline may be unknown", async () => {
  expect(await failing(() => ({}))).toEqual([]);
  const blind = await failing((good) => ({
    queryExpired: async (limit) => ({ ...(await good.queryExpired(limit)), nextInMs: null }),
  }));
  expect(blind).toEqual([]);
});

test("a store that completes by the instance's name alone is found", async () => {
  const failed = await failing((good) => ({ complete: ({ instance }) => good.cancel(instance) }));
  expect(failed).toContain("a claim on a timeout that was scheduled again completes and releases nothing");
  expect(failed).toContain("a made-up token completes nothing");
  expect(failed).toContain("an expired claim is replaced by the next, and its late holder can do nothing");
});

test("a store that completes by generation and not by token is found", async () => {
  const failed = await failing((good) => ({
    complete: async (claim) => {
      const there = await good.get(claim.instance);
      return there?.generation === claim.generation ? good.cancel(claim.instance) : false;
    },
  }));
  expect(failed).toContain("of two claims under one node's name, the first cannot change the second");
});

test("a store that claims whatever is stored is found", async () => {
  const failed = await failing((good) => ({
    claim: async (timeout, node, options) => good.claim((await good.get(timeout.instance)) ?? timeout, node, options),
  }));
  expect(failed).toEqual(["a timeout scheduled again since it was read is neither claimed nor changed"]);
});

test("a store whose released timeouts stay at the head of the line is found", async () => {
  const failed = await failing((good) => ({ release: (claim: ClaimedTimeout) => good.release(claim) }));
  expect(failed).toContain(
    "released after a failure, a timeout is due later, behind the others, and the attempt is counted",
  );
});

test("a store that judges deadlines by another clock is found", async () => {
  const failed = await failing((good, world) => ({
    schedule: (instance, timeout) =>
      good.schedule(
        instance,
        timeout.in === undefined ? timeout : { ...timeout, in: undefined as never, at: world.wallNow() + 1_000 },
      ),
  }));
  expect(failed.length).toBeGreaterThan(3);
});

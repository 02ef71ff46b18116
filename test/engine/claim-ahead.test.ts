// How many runs a node claims ahead of a free slot, by how fast its runs end.

import { expect, test } from "vitest";
import { ClaimAhead } from "../../src/engine/claiming/claim-ahead.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

function scene(fixed: number | null = null, mayWait = true) {
  const world = new VirtualWorld();
  const ahead = new ClaimAhead({ world, size: 10, fixed, mayWait: () => mayWait });
  /** Ends runs, one after each pause. */
  const end = async (runs: number, everyMs: number) => {
    for (let i = 0; i < runs; i++) {
      await world.advance(everyMs);
      ahead.ended();
    }
  };
  return { world, ahead, end };
}

test("nothing is claimed ahead before runs have shown how fast they end", async () => {
  const { ahead, end } = scene();
  expect(ahead.count).toBe(0);
  await end(9, 1);
  expect(ahead.count).toBe(0);
});

test("while all slots become free within a moment, as many runs are claimed ahead", async () => {
  const { ahead, end } = scene();
  await end(10, 1);
  expect(ahead.count).toBe(10);
});

test("slow runs are not claimed ahead", async () => {
  const { ahead, end } = scene();
  await end(10, 10);
  expect(ahead.count).toBe(0);
});

test("fast runs that are followed by slow ones end the claiming ahead within a moment", async () => {
  const { ahead, end, world } = scene();
  await end(10, 1);
  await world.advance(60);
  expect(ahead.count).toBe(0);
});

test("a node that may not let claimed runs wait claims none ahead", async () => {
  const { ahead, end } = scene(null, false);
  await end(10, 1);
  expect(ahead.count).toBe(0);
});

test.each([0, 3])("a setting of %i is used as it is", async (fixed) => {
  const { ahead, end } = scene(fixed);
  expect(ahead.count).toBe(fixed);
  await end(10, 1);
  expect(ahead.count).toBe(fixed);
});

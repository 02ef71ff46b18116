// The engine under seeded faults: seeds that once found a bug, and the second half of the others.

import { test } from "vitest";
import { expectSound, range } from "./seeds.js";
import kept from "./seeds.json" with { type: "json" };

test.for(kept.map(({ seed, found }) => [found, seed] as const))(
  "%s does not recur (seed %i)",
  { timeout: 30_000 },
  async ([, seed]) => void (await expectSound([seed])),
);

test("seeds 161 to 320 hold every invariant", { timeout: 300_000 }, async () => {
  await expectSound(range(161, 160));
});

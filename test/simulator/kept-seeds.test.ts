// The engine under seeded faults: seeds that once found a bug.

import { test } from "vitest";
import { expectSound } from "./seeds.js";
import kept from "./seeds.json" with { type: "json" };

test.for(kept.map(({ seed, found }) => [found, seed] as const))(
  "%s does not recur (seed %i)",
  { timeout: 30_000 },
  async ([, seed]) => void (await expectSound([seed])),
);

// Simulated histories on a store whose retention is short: whole runs vanish while nodes are killed and the database fails over.

import { expect, test } from "vitest";
import { simulate } from "../../src/simulator/simulate.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";

const SEEDS = Number(process.env["HOLDFAST_RETENTION_SEEDS"] ?? 4);
const SHORT = { completed: 1_000, cancelled: 500, failed: 2_000, dead: 2_000 } as const;

test("only ended runs are removed, a child after its parent, and everything else continues (S20)", async () => {
  let removed = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const verdict = await simulate(seed, {
      openStore: (world) => {
        const store = memoryStore({ world, retention: SHORT });
        const { cleanUp } = store;
        return Object.assign(store, {
          cleanUp: async (round: Parameters<typeof cleanUp>[0]) => {
            const cleaned = await cleanUp(round);
            if (round.part === "runs") removed += cleaned?.removed ?? 0;
            return cleaned;
          },
        });
      },
    });
    expect({ seed, violations: verdict.violations }).toEqual({ seed, violations: [] });
  }
  expect(removed).toBeGreaterThan(0);
});

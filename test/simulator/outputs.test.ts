// Outputs under simulated faults: at most one delivery under each key, whatever happens to the nodes, also after a retry.

import { expect, test } from "vitest";
import { simulate } from "../../src/simulator/simulate.js";
import { OutputWorkload } from "../../src/simulator/workload/output-workload.js";

test("each letter goes out at most once, and most of them do", { timeout: 60_000 }, async () => {
  const broken: string[] = [];
  let delivered = 0;
  class Counted extends OutputWorkload {
    override async check(...[history, effects]: Parameters<OutputWorkload["check"]>): Promise<void> {
      delivered += new Set(effects.records.map(({ idempotencyKey }) => idempotencyKey.split(":")[3])).size;
      await super.check(history, effects);
    }
  }
  for (let seed = 1; seed <= 8; seed++) {
    const { violations } = await simulate(seed, { workload: () => new Counted() });
    broken.push(...violations.map(({ invariant, detail }) => `seed ${seed}: ${invariant} ${detail}`));
  }
  expect(broken).toEqual([]);
  expect(delivered).toBeGreaterThan(16);
});

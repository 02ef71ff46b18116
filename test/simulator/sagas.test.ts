// Sagas under simulated faults: every compensation once, the last first, whatever happens to the nodes.

import { expect, test } from "vitest";
import { simulate } from "../../src/simulator/simulate.js";
import { SagaWorkload } from "../../src/simulator/workload/saga-workload.js";

test("cancelled sagas undo what was done, each part once", { timeout: 60_000 }, async () => {
  const broken: string[] = [];
  for (let seed = 1; seed <= 12; seed++) {
    const { violations } = await simulate(seed, { workload: () => new SagaWorkload() });
    broken.push(...violations.map(({ invariant, detail }) => `seed ${seed}: ${invariant} ${detail}`));
  }
  expect(broken).toEqual([]);
});

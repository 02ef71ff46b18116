// All kinds of work at once under seeded faults: the second half of the seeds.

import { test } from "vitest";
import { MIXED } from "../../src/simulator/workload/mixed-workload.js";
import { expectSound, MIXED_SEEDS, range } from "./seeds.js";

test(`mixed seeds ${MIXED_SEEDS + 1} to ${2 * MIXED_SEEDS} hold every invariant`, { timeout: 900_000 }, async () => {
  await expectSound(range(MIXED_SEEDS + 1, MIXED_SEEDS), MIXED, "--mixed ");
});

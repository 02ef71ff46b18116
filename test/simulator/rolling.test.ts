// Deployments under seeded faults: nodes with two versions of the code, rolled to and fro. No run ends or is left quarantined
// because of it, and each build tries a journal that it does not fit once.

import { expect, test } from "vitest";
import { RollingWorkload } from "../../src/simulator/workload/rolling-workload.js";
import { expectSound, range } from "./seeds.js";

const SEEDS = Number(process.env["HOLDFAST_ROLLING_SEEDS"] ?? 30);

test(`${SEEDS} seeds of rolling deployments hold every invariant`, { timeout: 600_000 }, async () => {
  const tally = await expectSound(range(1, SEEDS), { workload: (swarm) => new RollingWorkload(swarm) }, "--rolling ");
  const marks = ["run completed", "misfit", "review lifted", "commit recorded", "reclaimed"];
  expect(marks.filter((mark) => !tally[mark])).toEqual([]);
});

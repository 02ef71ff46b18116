// Runs that kill their process among others, under cuts and pauses: the others complete, on whatever node (S22).

import { expect, test } from "vitest";
import { PoisonWorkload, poisonSwarm } from "../../src/simulator/workload/poison-workload.js";
import { expectSound, range } from "./seeds.js";

const SEEDS = Number(process.env["HOLDFAST_POISON_SEEDS"] ?? 40);

test(`${SEEDS} seeds of poison among innocent runs hold every invariant`, { timeout: 600_000 }, async () => {
  const options = { workload: (swarm: ConstructorParameters<typeof PoisonWorkload>[0]) => new PoisonWorkload(swarm) };
  const tally = await expectSound(range(1, SEEDS), { ...options, adjust: poisonSwarm }, "--poison ");
  const marks = ["run completed", "run dead", "reclaimed", "fault cut", "fault pause"];
  expect(marks.filter((mark) => !tally[mark])).toEqual([]);
});

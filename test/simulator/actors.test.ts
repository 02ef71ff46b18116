// Episodes under seeded faults: every invariant of runs, limits of actors (S14, S15), and that only what was never begun is skipped.

import { expect, test } from "vitest";
import { ActorWorkload } from "../../src/simulator/actor-workload.js";
import { expectSound, range } from "./seeds.js";

const SEEDS = Number(process.env["HOLDFAST_ACTOR_SEEDS"] ?? 40);

test(`${SEEDS} seeds of episodes hold every invariant`, { timeout: 600_000 }, async () => {
  const tally = await expectSound(range(1, SEEDS), { workload: () => new ActorWorkload() });
  const marks = [
    "run completed",
    "run failed",
    "run cancelled",
    "run skipped",
    "run parked",
    "commit recorded",
    "reclaimed",
  ];
  expect(marks.filter((mark) => !tally[mark])).toEqual([]);
});

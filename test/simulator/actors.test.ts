// Episodes under seeded faults: every invariant of runs, one episode per event (S10), limits of actors (S14, S15), that only episodes
// that never began are skipped, and that a reclaimed episode resumes, restarts or fails as its expectation declares.

import { expect, test } from "vitest";
import { ActorWorkload } from "../../src/simulator/workload/actor-workload.js";
import { expectSound, range } from "./seeds.js";

const SEEDS = Number(process.env["HOLDFAST_ACTOR_SEEDS"] ?? 25);

test(`${SEEDS} seeds of episodes hold every invariant`, { timeout: 600_000 }, async () => {
  const tally = await expectSound(range(1, SEEDS), { workload: () => new ActorWorkload() });
  const marks = [
    ...["run completed", "run failed", "run cancelled", "run skipped", "run dead"],
    ...["insert existing", "commit recorded", "reclaimed waiting", "reclaimed restarted", "reclaimed failed", "woken"],
  ];
  expect(marks.filter((mark) => !tally[mark])).toEqual([]);
});

// DAGs under seeded faults: every invariant of runs, and that a task begins only when all it needs has ended, each once, and a
// run ends after its tasks (S13).

import { expect, test } from "vitest";
import { DagWorkload } from "../../src/simulator/workload/dag-workload.js";
import { expectSound, range } from "./seeds.js";

const SEEDS = Number(process.env["HOLDFAST_DAG_SEEDS"] ?? 30);

test(`${SEEDS} seeds of DAGs hold every invariant`, { timeout: 600_000 }, async () => {
  const tally = await expectSound(range(1, SEEDS), { workload: (swarm) => new DagWorkload(swarm) }, "--dags ");
  const marks = [
    ...["run completed", "run failed", "run cancelled", "run skipped", "run dead"],
    ...["retry retried", "commit recorded", "reclaimed", "pause", "resume", "cancelTasks"],
  ];
  expect(marks.filter((mark) => !tally[mark])).toEqual([]);
});

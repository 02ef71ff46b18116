// Graphs under seeded faults: every invariant of runs, and that a node's visit is recorded once, begins where the last one led, and
// passes no gate that nobody opened (S13).

import { expect, test } from "vitest";
import { GraphWorkload } from "../../src/simulator/graph-workload.js";
import { simulate } from "../../src/simulator/simulate.js";

const SEEDS = Number(process.env["HOLDFAST_GRAPH_SEEDS"] ?? 120);

test(`${SEEDS} seeds of graphs hold every invariant`, { timeout: 600_000 }, async () => {
  const tally: Record<string, number> = {};
  for (let seed = 1; seed <= SEEDS; seed++) {
    const verdict = await simulate(seed, { workload: () => new GraphWorkload() });
    for (const [what, times] of Object.entries(verdict.tally)) tally[what] = (tally[what] ?? 0) + times;
    expect(verdict.violations, `seed ${seed}`).toEqual([]);
  }
  const marks = [
    "run completed",
    "run failed",
    "run cancelled",
    "run parked",
    "redrive redriven",
    "commit recorded",
    "reclaimed",
  ];
  expect(marks.filter((mark) => !tally[mark])).toEqual([]);
});

// Graphs under seeded faults: every invariant of runs, and that a node's visit is recorded once, begins where the last one led, and
// passes no gate that nobody opened (S13).

import { expect, test } from "vitest";
import { GraphWorkload } from "../../src/simulator/workload/graph-workload.js";
import { expectSound, range } from "./seeds.js";

const SEEDS = Number(process.env["HOLDFAST_GRAPH_SEEDS"] ?? 30);

test(`${SEEDS} seeds of graphs hold every invariant`, { timeout: 600_000 }, async () => {
  const tally = await expectSound(range(1, SEEDS), { workload: () => new GraphWorkload() });
  const marks = [
    "run completed",
    "run failed",
    "run cancelled",
    "run parked",
    "retry retried",
    "commit recorded",
    "reclaimed",
  ];
  expect(marks.filter((mark) => !tally[mark])).toEqual([]);
});

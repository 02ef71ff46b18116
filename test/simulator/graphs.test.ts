// Graphs under seeded faults: every invariant of runs, and that a node's visit is recorded once, begins where the last one led, and
// passes no gate without a decision (S13).

import { expect, test } from "vitest";
import { AgentWorkload } from "../../src/simulator/workload/agent-workload.js";
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

test("15 seeds of graphs that keep values: they are there exactly when their node's entry is", {
  timeout: 600_000,
}, async () => {
  const tally = await expectSound(range(1, 15), { workload: () => new AgentWorkload() });
  const marks = ["run completed", "reclaimed", "commit recorded"];
  expect(marks.filter((mark) => !tally[mark])).toEqual([]);
});

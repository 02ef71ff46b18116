// Triggers under every fault the simulator has: several clients with the same events, debounced subjects, breakers, schedules.
//
// HOLDFAST_EVENT_SEEDS=500 simulates 500 histories.

import { expect, test } from "vitest";
import { simulate } from "../../src/simulator/simulate.js";
import { EventWorkload } from "../../src/simulator/workload/event-workload.js";

const SEEDS = Number(process.env["HOLDFAST_EVENT_SEEDS"] ?? 14);
/** Seed 20 shows a claim that is lost before its event is settled, the rarest of the marks. */
const FIRST = 7;

/** Things that must have happened for this to be worth anything. */
const MARKS = [
  "breaker half-open",
  "breaker open",
  "fault failover",
  "fault jump",
  "fault kill",
  "insert existing",
  "insert inserted",
  "probe taken",
  "settle begins",
  "settle lost",
  "settle waits",
  "transact accepted",
];

test("each event makes one run for each of its triggers, and each subject ends with its last event", {
  timeout: 60_000 + SEEDS * 3_000,
}, async () => {
  // Stack traces of expected errors would take half of the time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const seen: Record<string, number> = {};
  try {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const { violations, tally } = await simulate(seed, { workload: (swarm) => new EventWorkload(swarm) });
      for (const [what, times] of Object.entries(tally)) seen[what] = (seen[what] ?? 0) + times;
      expect(violations, `replay: npm run simulate -- --events --seed ${seed}`).toEqual([]);
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  expect(MARKS.filter((mark) => !seen[mark])).toEqual([]);
});

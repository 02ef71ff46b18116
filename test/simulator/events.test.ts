// Triggers under every fault the simulator has: several clients with the same events, debounced subjects, breakers, schedules.

import { expect, test } from "vitest";
import { EventWorkload } from "../../src/simulator/event-workload.js";
import { simulate } from "../../src/simulator/simulate.js";

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
  timeout: 120_000,
}, async () => {
  // Half the time would go into stacks of errors that nobody reads.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const seen: Record<string, number> = {};
  try {
    for (let seed = 1; seed <= 40; seed++) {
      const { violations, tally } = await simulate(seed, { workload: (swarm) => new EventWorkload(swarm) });
      for (const [what, times] of Object.entries(tally)) seen[what] = (seen[what] ?? 0) + times;
      expect(violations, `replay: npm run simulate -- --events --seed ${seed}`).toEqual([]);
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  expect(MARKS.filter((mark) => !seen[mark])).toEqual([]);
});

// The engine under seeded faults; and whether every fault occurs at all.

import { expect, test } from "vitest";
import { expectSound, range } from "./seeds.js";

/** What must happen in the simulations for them to prove anything. */
const MARKS = [
  "admit",
  "attempts",
  "continued as new",
  "broken JOURNAL_MOVED",
  "commit busy",
  "commit lost",
  "commit moved",
  "commit recorded",
  "fault cut",
  "fault failover",
  "fault jump",
  "fault kill",
  "fault pause",
  "fault restart",
  "fault stop",
  "held 28P01",
  "held 42501",
  "held UNANSWERED",
  "reclaimed",
  "refused 25006",
  "refused 28P01",
  "refused 42501",
  "refused 53300",
  "looks at bounds",
  "retry not retryable",
  "retry retried",
  "renew lost",
  "run cancelled",
  "run completed",
  "run dead",
  "run failed",
  "run parked",
  "transact accepted",
  "transact lost",
  "transact moved",
  "woken",
];

test("seeds 1 to 160 hold every invariant, and every kind of fault occurs", { timeout: 300_000 }, async () => {
  const tally = await expectSound(range(1, 160));
  expect(MARKS.filter((mark) => !tally[mark])).toEqual([]);
});

// A minute of faults on five real processes and their database: nothing is lost, doubled, stolen or stuck.

import { expect, test } from "vitest";
import { FAULTS } from "../../chaos/nemesis.js";
import { runChaos } from "./run-chaos.js";

test("sixty seconds of chaos: takeovers, every kind of fault, no violation", { timeout: 180_000 }, async () => {
  const { report, log } = await runChaos("--seconds", "60", "--nodes", "5");
  expect(report, log).toMatchObject({
    deadlocks: 0,
    staleWrites: 0,
    stolenLiveLeases: 0,
    robbedLiveNodes: 0,
    doubledEffects: 0,
    lateBegins: 0,
    lostRuns: 0,
    innocentDead: 0,
    timersEarly: 0,
    timersLost: 0,
    timersDoubled: 0,
    triggersLost: 0,
    triggersDoubled: 0,
    limitExceeded: 0,
    auditMissing: 0,
    crossEnv: 0,
    failedRuns: 0,
    wrongRuns: 0,
    wrongSagas: 0,
    stuckRuns: 0,
    surprises: [],
    ok: true,
  });
  expect(report.takeovers).toBeGreaterThan(0);
  expect(report.cancelled).toBeGreaterThan(0);
  for (const fault of FAULTS) expect(report.faults[fault], `${fault} happened`).toBeGreaterThan(0);
});

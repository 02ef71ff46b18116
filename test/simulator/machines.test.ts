// Machines under seeded faults: nodes that die, hang and are cut off, a database that restarts and fails over. Every instance comes to its
// end, and its log has each timer and each effect's answer once.

import { expect, test } from "vitest";
import { simulate } from "../../src/simulator/simulate.js";
import { MachineWorkload } from "../../src/simulator/workload/machine-workload.js";

const SEEDS = Number(process.env["HOLDFAST_MACHINE_SEEDS"] ?? 12);

test("every timer fires once, and every instance comes to its end", { timeout: 120_000 }, async () => {
  let done = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const lives = new MachineWorkload();
    const { violations } = await simulate(seed, { workload: () => lives });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    done += lives.logs.length;
  }
  expect(done).toBeGreaterThan(SEEDS * 3);
});

test("the same seed is the same history", { timeout: 60_000 }, async () => {
  const hash = async () => (await simulate(3, { workload: () => new MachineWorkload() })).hash;
  expect(await hash()).toBe(await hash());
});

// Schedules under every fault the simulator has: kills, cuts, lost replies, failovers that forget, a clock that jumps.
//
// HOLDFAST_SCHEDULE_SEEDS=1000 simulates 1,000 histories.

import { expect, test } from "vitest";
import type { History } from "../../src/simulator/check/history.js";
import { simulate } from "../../src/simulator/simulate.js";
import type { Place, Workload } from "../../src/simulator/workload/workload.js";
import { every } from "../../src/trigger/schedule.js";
import { workflow } from "../../src/workflow/workflow.js";

const SEEDS = Number(process.env["HOLDFAST_SCHEDULE_SEEDS"] ?? 60);
const STEP = { do: "step", name: "add", ms: 5, fails: 0, attempts: 3, delayMs: 5, kills: 0 } as const;

/** One schedule of a second, each of whose windows is to have a run. */
class Ticking implements Workload {
  windows = 0;

  programs(place: Place) {
    const tick = workflow("tick", { on: [every("1s", { catchUp: "all" })] }, async (ctx) => {
      await ctx.step("add", { retry: 3 }, (info) => place.effect(ctx.runId, info, STEP, []));
    });
    return [tick];
  }

  drive(): void {}

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  /** S10: a window that was decided has one run, and every run is of a window that was decided. */
  async check(history: History): Promise<void> {
    const { schedules, runs, journal } = history.tables;
    const fired = [...runs.keys()].map((id) => JSON.parse(journal.get(id)!.get(1)!.payload!.data).window as string);
    const decided = [...schedules.values()].flatMap(({ anchorMs, lastMs }) => {
      const count = Math.floor((lastMs - anchorMs) / 1000);
      return Array.from({ length: count }, (_, i) => new Date(anchorMs + (i + 1) * 1000).toISOString());
    });
    this.windows = decided.length;
    const wrong = [
      ...decided.filter((window) => fired.filter((one) => one === window).length !== 1),
      ...fired.filter((window) => !decided.includes(window)),
    ];
    if (wrong.length > 0) history.broken("S10", null, `windows without exactly one run: ${wrong.join(" ")}`);
  }
}

test("every window has exactly one run, whatever happens", { timeout: 60_000 + SEEDS * 1_000 }, async () => {
  let windows = 0;
  let failovers = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const ticking = new Ticking();
    const { violations, tally } = await simulate(seed, { workload: () => ticking });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    windows += ticking.windows;
    failovers += tally["fault failover"] ?? 0;
  }
  expect(windows).toBeGreaterThan(SEEDS * 10);
  expect(failovers).toBeGreaterThan(SEEDS / 6);
});

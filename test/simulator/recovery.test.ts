// Recovery policies under every fault of the simulator: kills, pauses, cut cables, failovers. What is taken back goes on, begins
// anew or is given up, as its program says; every invariant holds as for any other run.

import { expect, test } from "vitest";
import { RECOVERIES, type Recovery } from "../../src/kernel/recovery.js";
import type { History } from "../../src/simulator/check/history.js";
import type { ModelRun } from "../../src/simulator/check/model.js";
import { simulate } from "../../src/simulator/simulate.js";
import type { DriveOptions, Place, Workload } from "../../src/simulator/workload.js";
import { workflow } from "../../src/workflow/workflow.js";

const SEEDS = Number(process.env["HOLDFAST_SEEDS"] ?? 25);
const STEP = { do: "step", name: "work", ms: 400, fails: 0, attempts: 3, delayMs: 5, kills: 0 } as const;

const program = (place: Place | null, recovery: Recovery) =>
  workflow(`work-${recovery}`, { recovery }, async (ctx, _n: number): Promise<string> => {
    for (const name of ["one", "two", "three"]) {
      await ctx.step(name, { retry: 3 }, (info) => place!.effect(ctx.runId, info, STEP, []));
    }
    return "whole";
  });

class Recovering implements Workload {
  readonly seen: Record<string, number> = {};

  programs(place: Place) {
    return RECOVERIES.map((recovery) => program(place, recovery));
  }

  drive({ client, at }: DriveOptions): void {
    for (let i = 0; i < 12; i++) {
      const recovery = RECOVERIES[i % 3]!;
      at(i * 150, () => void client.start(program(null, recovery), i, { key: `k${i}` }));
    }
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  async check(history: History): Promise<void> {
    for (const run of history.runs.values()) this.#judge(history, run);
  }

  #judge(history: History, run: ModelRun): void {
    const recovery = run.program.slice("work-".length);
    const restarts = run.journal.filter(({ kind, name }) => kind === "start" && name === "recovery").length;
    const orphaned = run.journal.some(({ kind, token }) => kind === "failed" && token === null);
    this.seen[`${recovery} ${run.state}`] = (this.seen[`${recovery} ${run.state}`] ?? 0) + 1;
    if (restarts > 0) this.seen["restarts"] = (this.seen["restarts"] ?? 0) + restarts;
    history.expect(restarts === 0 || recovery === "restart", "S9", run, `${recovery}, and begun anew`);
    history.expect(run.generation === restarts, "S16", run, `generation ${run.generation} after ${restarts} restarts`);
    history.expect(!orphaned || recovery === "fail", "S9", run, `${recovery}, and given up`);
    history.expect(run.state !== "failed" || orphaned, "L3", run, "failed, and nobody had died");
  }
}

test(`what is taken back is treated as its program says, ${SEEDS} seeds`, { timeout: 300_000 }, async () => {
  const seen: Record<string, number> = {};
  for (let seed = 1; seed <= SEEDS; seed++) {
    const workload = new Recovering();
    const { violations } = await simulate(seed, { workload: () => workload });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    for (const [what, count] of Object.entries(workload.seen)) seen[what] = (seen[what] ?? 0) + count;
  }
  // The seeds have shown each of them.
  for (const what of ["resume completed", "restart completed", "fail completed", "fail failed", "restarts"]) {
    expect(seen[what] ?? 0, what).toBeGreaterThan(0);
  }
});

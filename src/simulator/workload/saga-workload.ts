// Sagas: runs of three steps with a compensation each, cancelled at any moment, while their nodes die.

import type { AnyDefinition } from "../../program/definition.js";
import type { Workflow } from "../../workflow/context.js";
import { workflow } from "../../workflow/workflow.js";
import type { History } from "../check/history.js";
import type { ModelRun } from "../check/model.js";
import type { DriveOptions, Place, Workload } from "./workload.js";

const PARTS = ["hotel", "car", "flight"] as const;
const EFFECT = { do: "step", fails: 0, attempts: 1_000, kills: 0 } as const;
const RETRY = { attempts: 1_000, delay: 5, backoff: "fixed" } as const;

interface Trip {
  readonly stepMs: number;
  readonly pauseMs: number;
}

/** Without a place it can be started, but not executed. */
function trip(place: Place | null): Workflow<string, Trip, string> {
  return workflow("trip", { cleanupTimeout: "1h" }, async (ctx, { stepMs, pauseMs }: Trip) => {
    for (const part of PARTS) {
      await ctx.step(part, { retry: RETRY }, (info) => place!.effect(ctx.runId, info, { ...EFFECT, ms: stepMs }, []));
      ctx.onCancel(`undo ${part}`, { retry: RETRY }, (info) =>
        place!.effect(ctx.runId, info, { ...EFFECT, ms: stepMs }, []),
      );
      await ctx.sleep("between", pauseMs);
    }
    return "travelled";
  });
}

export class SagaWorkload implements Workload {
  programs(place: Place): readonly AnyDefinition[] {
    return [trip(place)];
  }

  drive({ client, chance, swarm, at }: DriveOptions): void {
    const { leaseMs, faultsForMs } = swarm;
    for (let i = 0; i < swarm.runs; i++) {
      const input = {
        stepMs: Math.ceil(leaseMs * chance.random() * 0.3),
        pauseMs: Math.ceil(leaseMs * chance.random()),
      };
      const cancelAfterMs = chance.happens(0.8) ? chance.between(0, 6 * leaseMs) : null;
      at(chance.between(0, faultsForMs * 0.7), async () => {
        const runId = await client.start(trip(null), input, { key: `trip-${i}` });
        if (runId !== null && cancelAfterMs !== null) at(cancelAfterMs, () => void client.cancel(runId));
      });
    }
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  async check(history: History): Promise<void> {
    for (const run of history.runs.values()) if (run.program === "trip") checkTrip(history, run);
  }
}

/** Each part that was done before the cancel was raised is undone once, the last first; without a cancel nothing is. */
function checkTrip(history: History, run: ModelRun): void {
  const raised = run.journal.find(({ kind }) => kind === "cancelling");
  const steps = run.journal.filter(({ kind }) => kind === "step");
  const isUndo = ({ key }: { readonly key: string | null }) => key!.startsWith("onCancel:");
  const undone = steps.filter(isUndo).map(({ name }) => name);
  const done = steps.filter((entry) => !isUndo(entry) && raised && entry.seq < raised.seq);
  const wanted = raised && run.state === "cancelled" ? done.map(({ name }) => `undo ${name}`).reverse() : undone;
  history.expect(undone.join() === wanted.join(), "S6", run, `undid ${undone.join()} instead of ${wanted.join()}`);
  const isExpected = raised !== undefined || undone.length === 0;
  history.expect(isExpected, "S23", run, `undid ${undone.join()} though it was not cancelled`);
}

// The work of the scenarios: steps whose effects are reported to the test, one of which may wait until the test releases it.

import type { StepInfo } from "../../src/replay/step-call.js";
import { workflow } from "../../src/workflow/workflow.js";

export interface TaskInput {
  readonly steps: number;
  /** How long a step takes. */
  readonly ms: number;
  /** The number of the step that waits for its release instead. */
  readonly holdAt?: number;
}

export interface Effect {
  readonly runId: string;
  readonly step: string;
  readonly key: string;
  readonly epoch: number;
}

/** The side effect of a step; returns a value that no other attempt returns. */
export type Work = (effect: Effect, ms: number, held: boolean) => Promise<string>;

export const taskWith = (work: Work) =>
  workflow("task", async (ctx, { steps, ms, holdAt }: TaskInput) => {
    const done: string[] = [];
    for (let i = 0; i < steps; i++) {
      const step = `s${i}`;
      const act = ({ idempotencyKey: key, fence }: StepInfo) =>
        work({ runId: ctx.runId, step, key, epoch: Number(fence) }, ms, i === holdAt);
      done.push(await ctx.step(step, act));
    }
    return done;
  });

/** For processes that only start it. */
export const task = taskWith(async () => "never");

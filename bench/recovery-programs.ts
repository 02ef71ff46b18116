// The programs of the recovery benchmark: one that hangs under its first claim, one that kills its process, and parents with
// children in two versions of the code.

import { setTimeout as pass } from "node:timers/promises";
import { type StepInfo, workflow } from "../src/index.js";

/** What a node process reports to the benchmark. */
export interface Report {
  readonly event: "ready" | "begun" | "lost";
  readonly runId?: string;
  readonly epoch?: number;
}

/** How long a poison run waits before it kills the process, so that its neighbours can work. */
const POISON_MS = 300;
/** Duration of a step in a deployment: long enough that many are running whenever a process stops. */
const STEP_MS = 80;

export interface Host {
  readonly report: (report: Report) => void;
  /** Resolves when the benchmark next releases the runs of this process. */
  readonly released: () => Promise<unknown>;
}

export function programsOf(version: 1 | 2, { report, released }: Host) {
  const begun = (runId: string, { fence }: StepInfo): number => {
    const epoch = Number(fence);
    report({ event: "begun", runId, epoch });
    return epoch;
  };

  /** The first holder never ends; every later one works for `workMs`. */
  const held = workflow("held", async (ctx, workMs: number) => {
    await ctx.step("first", () => 1);
    await ctx.step("second", async (info) => {
      if (begun(ctx.runId, info) > 1) return void (await pass(workMs));
      const aborted = new Promise((_, reject) => {
        info.signal.addEventListener("abort", () => reject(info.signal.reason), { once: true });
      });
      await Promise.race([released(), aborted]);
    });
    await ctx.step("third", () => 3);
  });
  const innocent = workflow("innocent", async (ctx, workMs: number) => {
    await ctx.step("work", async (info) => {
      begun(ctx.runId, info);
      await pass(workMs);
    });
  });
  const poison = workflow("poison", async (ctx) => {
    await ctx.step("kill", async (info) => {
      begun(ctx.runId, info);
      await pass(POISON_MS);
      process.kill(process.pid, "SIGKILL");
      await pass(60_000);
    });
  });
  const quick = workflow("quick", async () => 1);

  const work = () => pass(STEP_MS);
  const item = workflow("item", async (ctx) => {
    await ctx.step("make", work);
    await ctx.step("check", work);
    // Not guarded: a step added at the end, where runs of the older code have ended.
    if (version === 2) await ctx.step("label", work);
  });
  const parent = workflow("parent", async (ctx, children: number) => {
    await ctx.step("reserve", work);
    if (version === 2 && (await ctx.patched("weigh the order"))) await ctx.step("weigh", work);
    await ctx.children(
      item,
      Array.from({ length: children }, () => undefined),
    );
    await ctx.step("close", work);
    return children;
  });
  return { held, innocent, poison, quick, item, parent };
}

/** For a client: it starts them by these values and executes none. */
export const programs = programsOf(1, { report: () => {}, released: async () => {} });

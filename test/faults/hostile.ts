// The work of the process faults: a run that harms the process which executes it, and runs that are next to it by chance.

import { workflow } from "../../src/workflow/workflow.js";

/** What a step does to its process. */
export type Harm =
  | "exit"
  | "abort"
  | "throw later"
  | "reject later"
  | "spin for ever"
  | "spin until released"
  | "no files until released";

/** Called in the step, before it does anything: which process began which step of which run. */
export type Note = (runId: string, step: string) => void;

export const hostileWith = (act: (harm: Harm) => Promise<unknown>, note: Note) =>
  workflow("hostile", async (ctx, harm: Harm) => {
    const step = (name: string, body: () => unknown) =>
      ctx.step(name, { retry: 1 }, async () => {
        note(ctx.runId, name);
        await body();
        return name;
      });
    return [await step("before", () => {}), await step("harm", () => act(harm)), await step("after", () => {})];
  });

export const neighbourWith = (work: (ms: number) => Promise<unknown>, note: Note) =>
  workflow("neighbour", async (ctx, ms: number) => {
    await ctx.step("first", { retry: 1 }, () => note(ctx.runId, "first"));
    await ctx.step("second", { retry: 1 }, async () => {
      note(ctx.runId, "second");
      await work(ms);
    });
  });

/** For processes that only start them. */
export const hostile = hostileWith(
  async () => {},
  () => {},
);
export const neighbour = neighbourWith(
  async () => {},
  () => {},
);

// The work of the poison scenario: one run that kills its process, and others that are in the same process by chance.

import { workflow } from "../../src/workflow/workflow.js";

/** How it ends its process. */
export type Way = "kill" | "memory";

export const poison = (kill: () => void) =>
  workflow("poison", async (ctx) => {
    await ctx.step("kill", async () => {
      kill();
      await new Promise(() => {});
    });
  });

export const innocent = (work: (ms: number) => Promise<unknown>) =>
  workflow("innocent", async (ctx, ms: number) => {
    await ctx.step("work", () => work(ms));
  });

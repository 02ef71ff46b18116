// Two versions of the same programs, one pair for each kind of change, and a parent that waits for many of them.

import { workflow } from "../../src/workflow/workflow.js";
import type { WorkflowContext } from "../../src/workflow/workflow-context.js";

export const CHANGES = ["patched", "added", "removed", "reordered"] as const;
export type Change = (typeof CHANGES)[number];
export type Version = "v1" | "v2";

const NAP_MS = 120;
const WORK_MS = 5;
const work = () => new Promise<string>((resolve) => setTimeout(() => resolve("done"), WORK_MS));
type Context = Pick<WorkflowContext, "step" | "sleep" | "patched">;

async function before(ctx: Context) {
  await ctx.step("a", work);
  await ctx.sleep("nap 1", NAP_MS);
  await ctx.step("b", work);
  await ctx.sleep("nap 2", NAP_MS);
  await ctx.step("c", work);
}

const AFTER: Readonly<Record<Change, (ctx: Context) => Promise<void>>> = {
  patched: async (ctx) => {
    await ctx.step("a", work);
    await ctx.sleep("nap 1", NAP_MS);
    if (await ctx.patched("x")) await ctx.step("x", work);
    await ctx.step("b", work);
    await ctx.sleep("nap 2", NAP_MS);
    await ctx.step("c", work);
  },
  added: async (ctx) => {
    await before(ctx);
    await ctx.sleep("nap 3", NAP_MS);
    await ctx.step("d", work);
  },
  removed: async (ctx) => {
    await ctx.step("a", work);
    await ctx.sleep("nap 1", NAP_MS);
    await ctx.sleep("nap 2", NAP_MS);
    await ctx.step("c", work);
  },
  reordered: async (ctx) => {
    await ctx.step("a", work);
    await ctx.sleep("nap 1", NAP_MS);
    await ctx.step("c", work);
    await ctx.sleep("nap 2", NAP_MS);
    await ctx.step("b", work);
  },
};

export function rolled(version: Version) {
  const pairs = CHANGES.map((change) => {
    const child =
      version === "v1"
        ? workflow(`child-${change}`, async (ctx) => before(ctx))
        : workflow(`child-${change}`, async (ctx) => AFTER[change](ctx));
    const parent = workflow(`parent-${change}`, async (ctx, children: number) => {
      await Promise.all(Array.from({ length: children }, () => ctx.child(child, undefined)));
      return children;
    });
    return [change, { child, parent }] as const;
  });
  return Object.fromEntries(pairs) as Record<Change, (typeof pairs)[number][1]>;
}

export const programsOf = (version: Version) =>
  Object.values(rolled(version)).flatMap(({ child, parent }) => [child, parent]);

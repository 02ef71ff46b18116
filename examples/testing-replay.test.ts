// Recorded journals against new code: a change that live runs cannot continue with fails the build.
import { workflow } from "holdfast";
import { replay, testNode } from "holdfast/testing";
import { expect, test } from "vitest";

const order = workflow("order", async (ctx, id: string) => {
  await ctx.step("reserve", () => id);
  await ctx.sleep("cool off", "2d");
  return ctx.step("ship", () => `shipped ${id}`);
});

/** In production: `holdfast histories export --out histories.json`, and JSON.parse of that file. */
async function recorded() {
  await using node = testNode({ programs: [order] });
  const run = await node.start(order, "o-1");
  await run.untilParked();
  return node.histories();
}

test("code that makes the same calls continues the recorded runs", async () => {
  const report = await replay(order, await recorded());
  report.assert();
});

test("code that makes other calls does not", async () => {
  const changed = workflow("order", async (ctx, id: string) => {
    await ctx.step("reserve stock", () => id);
    return ctx.step("ship", () => `shipped ${id}`);
  });
  const report = await replay(changed, await recorded());
  expect(report.misfits[0]?.message).toContain('made, not recorded: step "reserve stock"');
});

// The files that `holdfast init` writes.

export function appText(typescript: boolean): string {
  return `// An order that is charged, waits, and is shipped. \`npx holdfast dev\` runs it on three nodes: start one in the dashboard, kill
// its node, and see it continue on another.
import { workflow } from "holdfast";

export const order = workflow("order", async (ctx, input${typescript ? ": { id: string }" : ""}) => {
  // A step is recorded. After a crash its result is read, not computed again.
  const receipt = await ctx.step("charge", async ({ idempotencyKey }) => ({ of: input.id, idempotencyKey }));
  await ctx.sleep("cool off", "10s");
  await ctx.step("ship", () => \`shipped \${input.id}\`);
  return receipt.of;
});
`;
}

/** The runner that the folder has; Node's own otherwise. */
export function testText(runner: "vitest" | "node", app: string): string {
  const imports =
    runner === "vitest"
      ? `import { testNode } from "holdfast/testing";\nimport { expect, test } from "vitest";`
      : `import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { testNode } from "holdfast/testing";`;
  const check =
    runner === "vitest" ? `expect(await run.result()).toBe("o-1");` : `assert.equal(await run.result(), "o-1");`;
  return `// The order in memory, with time that is skipped: its node crashes while it waits, and it is still shipped.
${imports}
import { order } from "${app}";

test("an order is shipped, also after a crash", async () => {
  const node = testNode({ programs: [order] });
  const run = await node.start(order, { id: "o-1" });
  await node.advance("1s");
  await node.crash();
  await node.restart();
  ${check}
  const journal = await run.journal();
  journal.expectSteps("charge", "ship");
  await node.stop();
});
`;
}

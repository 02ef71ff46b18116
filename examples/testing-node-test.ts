// The same kit under Node's own test runner: `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { workflow } from "holdfast";
import { testNode } from "holdfast/testing";

const reminder = workflow("reminder", async (ctx, name: string) => {
  await ctx.sleep("a month", "30d");
  return ctx.step("write", () => `Dear ${name}`);
});

test("a reminder is written after a month", async () => {
  const node = testNode({ programs: [reminder] });
  const run = await node.start(reminder, "Ann");
  await node.advance("29d");
  assert.equal((await run.status()).state, "parked");
  assert.equal(await run.result(), "Dear Ann");
  await node.stop();
});

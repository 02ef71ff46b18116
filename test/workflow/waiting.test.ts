// Runs that wait for people and for other runs.

import { beforeAll, expect, test } from "vitest";
import type { Node } from "../../src/node/create-node.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

const ship = workflow("ship", async (ctx, timeout: number) => {
  const answer = await ctx.approval("ship", { ask: "Ship o-1?", choices: ["ship", "hold"], to: "warehouse", timeout });
  return answer.outcome !== "expired" ? `${answer.outcome} by ${answer.by}` : answer.outcome;
});
const double = workflow("double", async (ctx, n: number) => {
  if (n < 0) throw new Error("negative");
  return ctx.step("double", () => n * 2);
});
const family = workflow("family", async (ctx, n: number) => {
  const all = await ctx.children(
    double,
    Array.from({ length: n }, (_, i) => i),
  );
  return all.reduce((a, b) => a + b, 0);
});
const badParent = workflow("bad-parent", async (ctx) => {
  try {
    await ctx.child(double, -1);
    return "?";
  } catch (error) {
    return (error as Error).message;
  }
});

onBothStores((bench) => {
  let node: Node;
  beforeAll(async () => {
    node = await bench.open({ programs: [ship, double, family, badParent] });
  });
  const isParked = async (id: string) => (await node.run(id).status()).state === "parked";

  test("one decision counts, a second learns who was first", async () => {
    const run = await node.start(ship, 60_000);
    await expect.poll(() => isParked(run.id), { timeout: 5_000 }).toBe(true);
    await run.decide("ship", { choice: "ship", by: "ann" });
    const late = () =>
      expect(run.decide("ship", { choice: "hold", by: "bob" })).rejects.toMatchObject({
        code: "DECISION_CONFLICT",
        by: "ann",
        message: 'Approval "ship" has already been decided by ann.',
      });
    await late();
    expect(await run.result({ timeout: "5s" })).toBe("ship by ann");
    await late();
  });

  test("a decision that comes before the question counts", async () => {
    const run = await node.start(ship, 60_000, { delay: 100 });
    await run.decide("ship", { choice: "hold", by: "ann" });
    expect(await run.result({ timeout: "5s" })).toBe("hold by ann");
  });

  test("an approval expires, and a later decision is a conflict", async () => {
    const run = await node.start(ship, 50);
    expect(await run.result({ timeout: "5s" })).toBe("expired");
    await expect(run.decide("ship", { choice: "ship", by: "ann" })).rejects.toMatchObject({
      code: "DECISION_CONFLICT",
      by: null,
    });
  });

  test("the question is in the journal with its hash", async () => {
    const run = await node.start(ship, 60_000);
    await expect.poll(() => isParked(run.id), { timeout: 5_000 }).toBe(true);
    const { entries } = (await bench.store.journal.read(run.id))!;
    const asked = JSON.parse(entries.find(({ kind }) => kind === "approval.begun")!.payload!.data);
    expect(asked).toMatchObject({ ask: "Ship o-1?", choices: ["ship", "hold"], to: "warehouse" });
    expect(asked.hash).toMatch(/^[0-9a-f]{64}$/);
    await run.cancel();
  });

  test("a parent of many children wakes once, and gets every result", async () => {
    const run = await node.start(family, 20);
    expect(await run.result({ timeout: "10s" })).toBe(380);
    const kinds = (await bench.store.journal.read(run.id))!.entries.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "child")).toHaveLength(20);
    expect(kinds.filter((kind) => kind === "parked").length).toBeLessThanOrEqual(3);
  });

  test("a parent can catch the failure of its child", async () => {
    expect(await (await node.start(badParent)).result({ timeout: "5s" })).toBe("negative");
  });
});

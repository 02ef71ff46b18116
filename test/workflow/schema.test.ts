// Input that goes through a schema: once, at the start; refused before anything is written.

import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { Node } from "../../src/node/create-node.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

onBothStores((bench) => {
  let parses = 0;
  const Order = z.object({
    id: z.string().min(1),
    cents: z.coerce.number().transform((cents) => {
      parses++;
      return cents * 2;
    }),
  });
  const Slow = z.string().refine(async (text) => text !== "bad");
  const order = workflow("order", { input: Order }, async (ctx, input) => {
    await ctx.sleep("a while", 5);
    return input;
  });
  const slow = workflow("slow", { input: Slow }, async (_ctx, text) => text);
  const parent = workflow("parent", async (ctx, child: "order" | "bad" | "slow") => {
    if (child === "slow") return ctx.child(slow, "x");
    return ctx.child(order, { id: child === "bad" ? "" : "o", cents: 5 });
  });
  let node: Node;
  beforeAll(async () => {
    node = await bench.open({ programs: [order, slow, parent] });
  });

  test("the function gets the output of the schema, however often it is replayed", async () => {
    const before = parses;
    const run = await node.start(order, { id: "a", cents: "21" });
    expect(await run.result({ timeout: "5s" })).toEqual({ id: "a", cents: 42 });
    expect(parses).toBe(before + 1);
  });

  test("invalid input is rejected with each field, and nothing is written", async () => {
    const before = await bench.store.runs.count({ env: "default", program: "order" });
    await expect(node.start(order, { id: "", cents: "x" })).rejects.toMatchObject({
      code: "INPUT_REFUSED",
      issues: [{ path: "input.id" }, { path: "input.cents" }],
    });
    expect(await bench.store.runs.count({ env: "default", program: "order" })).toEqual(before);
  });

  test("a schema may be async at a start", async () => {
    const run = await node.start(slow, "good");
    expect(await run.result({ timeout: "5s" })).toBe("good");
    await expect(node.start(slow, "bad")).rejects.toMatchObject({ code: "INPUT_REFUSED" });
  });

  test("a child's input is parsed, too; an invalid one fails the parent", async () => {
    const good = await node.start(parent, "order");
    expect(await good.result({ timeout: "5s" })).toEqual({ id: "o", cents: 10 });
    const bad = await node.start(parent, "bad");
    await expect(bad.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { code: "INPUT_REFUSED" } });
    const late = await node.start(parent, "slow");
    await expect(late.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { code: "INVALID_INPUT" } });
  });
});

// What a workflow starts, emits and shows to others: written once for each call, with its journal entry or not at all.

import { expect, test } from "vitest";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

const shipped = event<{ order: string }>()("order.shipped");

onBothStores((bench) => {
  const done: string[] = [];
  const invoice = workflow("invoice", async (_ctx, order: string) => void done.push(`invoice ${order}`));
  const mail = workflow("mail", { on: [on(shipped)] }, async (_ctx, { order }) => void done.push(`mail ${order}`));
  let stall: () => Promise<void> = async () => {};
  const ship = workflow("ship", { queue: "ship" }, async (ctx, order: string) => {
    await ctx.set("status", { at: "packing" });
    const { id } = await ctx.start(invoice, order, { key: `invoice ${order}`, priority: 3 });
    const { runs } = await ctx.emit(shipped, { order });
    await ctx.setAttributes({ customer: order, cents: 300 });
    await ctx.step("truck", () => stall());
    await ctx.set("status", { at: "gone" });
    await ctx.setAttributes({ cents: null, done: true });
    return { id, mails: runs.length };
  });

  test("a run starts another, emits an event and shows where it is", async () => {
    const node = await bench.open({ programs: [invoice, mail, ship] });
    const run = await node.start(ship, "a", { attributes: { region: "eu" } });
    const { id, mails } = await run.result({ timeout: "10s" });
    expect(mails).toBe(1);
    await node.run(id).result({ timeout: "10s" });
    expect(await node.run(id).status()).toMatchObject({ priority: 3, parentId: null });
    await expect.poll(() => done.filter((line) => line.endsWith(" a")).sort()).toEqual(["invoice a", "mail a"]);
    expect(await run.get("status")).toEqual({ at: "gone" });
    expect(await run.get("nothing")).toBeUndefined();
    expect((await run.status()).attributes).toEqual({ region: "eu", customer: "a", done: true });
  });

  test("after a takeover nothing is started, emitted or set twice", async () => {
    let release = () => {};
    stall = () => new Promise((resolve) => (release = resolve));
    const first = await bench.open({ programs: [ship] });
    const run = await first.start(ship, "b");
    await expect.poll(async () => (await run.status()).attributes).toEqual({ customer: "b", cents: 300 });
    expect(await run.get("status")).toEqual({ at: "packing" });
    const stopped = first.stop({ grace: 0 });
    stall = async () => {};
    const second = await bench.open({ programs: [invoice, mail, ship] });
    await second.run(run.id).result({ timeout: "10s" });
    release();
    await stopped;
    await expect.poll(() => done.filter((line) => line.endsWith(" b")).sort()).toEqual(["invoice b", "mail b"]);
    const { entries } = (await bench.store.journal.read(run.id))!;
    const written = entries.filter(({ kind }) => kind === "transaction").map(({ name }) => name);
    expect(written).toEqual(["start invoice", "emit order.shipped", "attributes", "attributes"]);
  });

  test("two calls with the same payload are two events", async () => {
    const twice = workflow("twice", async (ctx, order: string) => {
      await ctx.emit(shipped, { order });
      await ctx.emit(shipped, { order });
    });
    const node = await bench.open({ programs: [twice, mail] });
    await (await node.start(twice, "c")).result({ timeout: "10s" });
    await expect.poll(() => done.filter((line) => line === "mail c")).toHaveLength(2);
  });

  test("what cannot be written fails the call and leaves nothing", async () => {
    const wrong = workflow("wrong", async (ctx) => {
      await ctx.start(invoice, "d", { key: "d" });
      const other = await ctx.start(invoice, "e", { key: "d" }).catch((error) => error.code);
      await ctx.setAttributes({ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1 });
      const ninth = await ctx.setAttributes({ i: 1 }).catch((error) => error.code);
      return [other, ninth];
    });
    const node = await bench.open({ programs: [wrong, invoice] });
    const run = await node.start(wrong);
    expect(await run.result({ timeout: "10s" })).toEqual(["KEY_CONFLICT", "LIMIT_EXCEEDED"]);
    expect(Object.keys((await run.status()).attributes!)).toHaveLength(8);
    expect(done).not.toContain("invoice e");
  });

  test("a value for readers is bounded, and an unknown run has none", async () => {
    const large = workflow("large", async (ctx) => ctx.set("status", "x".repeat(10_000)));
    const node = await bench.open({ programs: [large] });
    await expect((await node.start(large)).result({ timeout: "10s" })).rejects.toThrow("8192");
    await expect(node.run("00000000-0000-7000-8000-000000000000").get("status")).rejects.toThrow("no run");
  });
});

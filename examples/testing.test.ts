// Tests of a workflow: in memory, with time that skips, stubs, crashes and a look at the journal.
import { signal, workflow } from "holdfast";
import { testNode } from "holdfast/testing";
import { expect, test } from "vitest";

const paid = signal<{ cents: number }>("paid");

const pack = workflow("pack", async (ctx, order: string) => {
  await ctx.sleep("until the shift begins", "8h");
  return `parcel of ${order}`;
});

const order = workflow("order", async (ctx, id: string) => {
  const payment = await ctx.waitFor(paid, { timeout: "30d" });
  if (!payment) return "expired";
  const answer = await ctx.approval("ship", { ask: `Ship ${id}?` });
  if (answer.outcome !== "approved") return "refused";
  const receipt = await ctx.step("charge", async ({ idempotencyKey }) => charge(id, payment.cents, idempotencyKey));
  return `${await ctx.child(pack, id)}, ${receipt}`;
});

async function charge(id: string, cents: number, key: string): Promise<string> {
  throw new Error(`The payment service is not there in tests: ${id} ${cents} ${key}`);
}

test("an order that is not paid expires after 30 days", async () => {
  await using node = testNode({ programs: [order] });
  const run = await node.start(order, "o-1");
  expect(await run.result()).toBe("expired");
});

test("a paid and approved order is charged and packed", async () => {
  await using node = testNode({ programs: [order, pack] });
  node.stub.step("charge", () => "receipt 7");
  const run = await node.start(order, "o-1");
  await run.signal(paid, { cents: 300 });
  await run.untilParked();
  await run.decide("ship", { choice: "approved", by: "ann" });
  expect(await run.result()).toBe("parcel of o-1, receipt 7");
});

test("a crash after the charge does not charge again", async () => {
  await using node = testNode({ programs: [order, pack] });
  let charges = 0;
  node.stub.step("charge", () => `receipt ${++charges}`);
  node.stub.signal(paid, { cents: 300 });
  node.stub.approval("ship", { choice: "approved" });
  const run = await node.start(order, "o-1");
  await node.advance("1h");
  await node.crash();
  await node.restart();
  expect(await run.result()).toBe("parcel of o-1, receipt 1");
});

test("a cache is gone after a crash", async () => {
  const priced = () => {
    const rates = new Map<string, number>();
    return workflow("priced", async (ctx) => {
      await ctx.step("load", () => void rates.set("EUR", 1.1));
      await ctx.sleep("until tomorrow", "1d");
      return rates.get("EUR") ?? "no rate";
    });
  };
  await using node = testNode({ programs: () => [priced()] });
  const run = await node.start(priced());
  await run.untilParked();
  await node.crash();
  await node.restart();
  expect(await run.result()).toBe("no rate");
});

test("a child can be replaced, and the journal shows what happened", async () => {
  await using node = testNode({ programs: [order] });
  node.stub.step("charge", ({ attempt }) => {
    if (attempt < 3) throw new Error("try again");
    return "receipt 7";
  });
  node.stub.child(pack, (id) => `box ${id}`);
  node.stub.signal(paid, { cents: 300 });
  node.stub.approval("ship", { choice: "approved" });
  const run = await node.start(order, "o-1");
  expect(await run.result()).toBe("box o-1, receipt 7");
  const journal = await run.journal();
  journal.expectSteps("charge");
  expect(journal.step("charge")).toMatchObject({ state: "done", attempts: 3, value: "receipt 7" });
  expect(journal.of("waiting").map(({ on, name }) => `${on} ${name}`)).toEqual([
    "signal paid",
    "approval ship",
    "child pack",
  ]);
});

test("SQL of a transaction step is answered by a function", async () => {
  const save = workflow("save", async (ctx, id: string) =>
    ctx.transaction("insert", async (tx) => {
      await tx.query("insert into orders (id) values ($1)", [id]);
      return id;
    }),
  );
  const sent: unknown[][] = [];
  await using node = testNode({
    programs: [save],
    database: async (_text, values) => {
      sent.push(values);
      return { rows: [] };
    },
  });
  expect(await (await node.start(save, "o-1")).result()).toBe("o-1");
  expect(sent).toEqual([["o-1"]]);
});

// A run that shows its state to others, starts another and emits an event; and the ways to find it from any process.
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, createNode, event, on, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const shipped = event<{ order: string }>()("order.shipped");
const invoice = workflow("invoice", async (_ctx, order: string) => `invoice of ${order}`);
const mail = workflow("mail", { on: [on(shipped)] }, async (_ctx, { order }) => `mail about ${order}`);

const order = workflow("order", async (ctx, id: string) => {
  await ctx.set("status", { at: "packing" });
  const answer = await ctx.approval("ship", { ask: `Ship ${id}?`, to: "warehouse" });
  await ctx.setAttributes({ shipped: answer.outcome === "approved" });
  await ctx.start(invoice, id, { key: id });
  await ctx.emit(shipped, { order: id });
  await ctx.set("status", { at: "gone" });
});

const store = memoryStore();
await using node = await createNode({ store, programs: [invoice, mail, order] });
const client = createClient({ store });
const feed = client.watch({ states: ["completed"] });
const ended = Promise.all([feed.next(), feed.next(), feed.next()]);

const run = await node.start(order, "o-1", { key: "o-1", attributes: { customer: "ann" } });
let open = await client.approvals.list({ to: "warehouse" });
while (open.rows.length === 0) {
  await sleep(20);
  open = await client.approvals.list({ to: "warehouse" });
}
console.log(open.rows[0]?.ask, await run.get("status"));
await client.approvals.decide(open.rows[0]!, { choice: "approved", by: "ann" });
await run.result();

console.log(await run.get("status"), (await client.runs.get({ program: order, key: "o-1" }))?.id === run.id);
const { runs } = await client.runs.list({ program: order, state: "completed", attributes: { customer: "ann" } });
console.log(runs[0]?.attributes, await client.runs.count({ attributes: { shipped: true } }));
const programs = (await ended).map(({ value }) => value?.program);
await feed.return();
console.log(programs.sort().join(" "));

// Two orders of a customer at a time, ten starts a second, and a queue that is paused and resumed.
import { createNode, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

interface Order {
  id: string;
  customer: { id: string };
}

const order = workflow(
  "order",
  {
    concurrency: [{ key: "customer.id", limit: 2 }, 50],
    rate: { limit: 10, per: "1s" },
  },
  async (ctx, input: Order) => ctx.step("charge", () => `charged ${input.id}`),
);
const ledger = workflow("ledger", { serial: "account" }, async (ctx, input: { account: string; n: number }) =>
  ctx.step("book", () => input.n),
);

await using node = await createNode({ store: memoryStore(), programs: [order, ledger] });

await node.queues.pause("order", { by: "ann" });
const run = await node.start(order, { id: "o-1", customer: { id: "c-1" } });
const [queue] = await node.queues.list();
console.log(queue?.queue, queue?.counts, "paused by", queue?.paused?.by);
await node.queues.resume("order");
console.log(await run.result());

const booked = await Promise.all([1, 2, 3].map((n) => node.start(ledger, { account: "a-1", n })));
console.log(await Promise.all(booked.map((one) => one.result())));

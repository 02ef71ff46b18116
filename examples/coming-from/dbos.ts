// A checkout in place of a DBOS workflow: steps, a value for readers, a message with a deadline, a limit on its queue.
import { createNode, signal, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

interface Order {
  id: string;
  cents: number;
}

const paid = signal<number>("paid");

const checkout = workflow("checkout", { queue: "orders", concurrency: 50 }, async (ctx, order: Order) => {
  await ctx.step("reserve", { retry: 3 }, () => log(`reserve ${order.id}`));
  await ctx.set("payment", `/pay/${order.id}`);
  const cents = await ctx.waitFor(paid, { timeout: "1h" });
  if (cents === undefined) {
    await ctx.step("release", () => log(`release ${order.id}`));
    return "expired";
  }
  await ctx.step("ship", ({ idempotencyKey }) => log(`ship ${order.id}`, idempotencyKey));
  return `paid ${cents}`;
});

const store = memoryStore(); // in production: postgres(url)
await using node = await createNode({ store, programs: [checkout] });

const run = await node.start(checkout, { id: "o-1", cents: 300 }, { key: "o-1" });
await run.signal(paid, 300, { id: "payment-7" });
console.log(await run.result());
console.log(await run.get("payment"));

const again = await node.start(checkout, { id: "o-1", cents: 300 }, { key: "o-1" });
console.log(again.id === run.id);

function log(what: string, _key?: string) {
  console.log(what);
}

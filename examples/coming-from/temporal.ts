// A subscription in place of a Temporal workflow: charged every month until it is cancelled. The months are skipped.
import { signal, workflow } from "holdfast";
import { testNode } from "holdfast/testing";

interface Subscription {
  customer: string;
  months: number;
}

const cancel = signal("cancel");

const subscription = workflow(
  "subscription",
  { queue: "billing" },
  async (ctx, { customer, months }: Subscription): Promise<number> => {
    const paid = months + 1;
    await ctx.step("charge", { retry: 3, timeout: "1m" }, ({ idempotencyKey }) =>
      charge(customer, paid, idempotencyKey),
    );
    await ctx.set("months", paid);
    const first = await ctx.race({ cancelled: ctx.waitFor(cancel), due: ctx.sleep("next month", "30d") });
    if (first.winner === "cancelled") return paid;
    return ctx.continueAsNew({ customer, months: paid });
  },
);

await using node = testNode({ programs: [subscription] }); // in production: createNode({ store: postgres(url), … })
const run = await node.start(subscription, { customer: "ann", months: 0 }, { key: "customer-1" });
await node.advance("65d");
console.log("months:", await run.get("months"));
await run.signal(cancel);
console.log("charged", await run.result(), "times");

function charge(customer: string, month: number, _key: string) {
  console.log(`charge ${customer} for month ${month}`);
}

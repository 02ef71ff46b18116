// What the shop does durably: an order from its reservation to its shipment, and a report every night.

import { type Context, cron, signal, workflow } from "holdfast";
import { bank, type Order, warehouse } from "./partners.js";

export const packed = signal<{ by: string }>("packed");

export const order = workflow("order", { concurrency: { key: "customer", limit: 2 } }, async (ctx, input: Order) => {
  if (input.cents >= 50_000) {
    await publish(ctx, "waits for a manager");
    const { outcome } = await ctx.approval("large order", {
      ask: `Accept ${input.id} of ${input.customer} over ${input.cents / 100} €?`,
      plan: input,
      to: "managers",
      timeout: "2d",
      default: "denied",
    });
    if (outcome !== "approved") return publish(ctx, "denied");
  }

  // Registered before the step: a step that was interrupted may have taken effect.
  ctx.onCancel("release", ({ idempotencyKey }) => warehouse.release(input, idempotencyKey));
  await ctx.step("reserve", ({ idempotencyKey }) => warehouse.reserve(input, idempotencyKey));
  await publish(ctx, "reserved");

  ctx.onCancel("refund", ({ idempotencyKey }) => bank.refund(input, idempotencyKey));
  await ctx.step("charge", ({ idempotencyKey }) => bank.charge(input, idempotencyKey));
  await publish(ctx, "charged");

  // The customer may cancel as long as the parcel is not packed.
  const first = await ctx.race({ packed: ctx.waitFor(packed), late: ctx.sleep("late", "3d") });
  if (first.winner === "late") throw new Error(`Order ${input.id} was not packed within three days.`);
  await publish(ctx, `packed by ${first.value.by}`);

  await ctx.step("ship", ({ idempotencyKey }) => warehouse.ship(input, idempotencyKey));
  await ctx.transaction("book", async (tx) => {
    await tx.query("update orders set shipped_at = now() where id = $1", [input.id]);
  });
  return publish(ctx, "shipped");
});

/** Shown by GET /orders/:id, and pushed to those who watch. */
async function publish(ctx: Context, status: string): Promise<string> {
  await ctx.set("status", status);
  await ctx.progress(status);
  return status;
}

export const nightlyReport = workflow(
  "nightly-report",
  { on: [cron(process.env["REPORT_CRON"] ?? "0 2 * * *", { timezone: "Europe/Berlin" })] },
  async (ctx, { window }) => {
    await ctx.transaction("sum up", async (tx) => {
      await tx.query(
        `insert into reports select $1, count(*), coalesce(sum(cents), 0) from orders
         where shipped_at >= $1::timestamptz - interval '1 day' and shipped_at < $1`,
        [window],
      );
    });
  },
);

// A workflow that survives crashes: steps are recorded, a person is asked, it sleeps, and it continues where it stopped.
import { workflow } from "holdfast";

export const order = workflow("order", async (ctx, input: { id: string; cents: number }) => {
  const receipt = await ctx.step("charge", async ({ idempotencyKey }) => charge(input, idempotencyKey));
  await ctx.step("pack", () => work(`pack ${input.id}`));
  const answer = await ctx.approval("ship", { ask: `Ship ${input.id}?`, to: "warehouse", timeout: "2d" });
  if (answer.outcome !== "approved") return { receipt, shipped: false };
  await ctx.sleep("cool off", "300ms");
  await ctx.step("ship", () => work(`ship ${input.id}`));
  return { receipt, shipped: true };
});

async function charge({ id, cents }: { id: string; cents: number }, key: string) {
  await work(`charge ${id}`);
  return { id, cents, key };
}

/** Represents a call to another system. */
async function work(what: string) {
  await new Promise((resolve) => setTimeout(resolve, 400));
  return what;
}

// A trip that waits for its payment, reminds once, and undoes its bookings in reverse when it is cancelled.
import { createNode, signal, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const paid = signal<number>("paid");
let reminded = () => {};
const isReminded = new Promise<void>((resolve) => {
  reminded = resolve;
});

const trip = workflow("trip", { cleanupTimeout: "30s" }, async (ctx, id: string) => {
  for (const part of ["hotel", "flight"]) {
    // Before the step: a step that was interrupted may have taken effect.
    ctx.onCancel(`cancel ${part}`, () => console.log(`cancel ${part} of ${id}`));
    await ctx.step(`book ${part}`, () => console.log(`book ${part} of ${id}`));
  }
  try {
    const first = await ctx.race({ paid: ctx.waitFor(paid), late: ctx.sleep("late", "1s") });
    if (first.winner === "paid") return `${first.value} cents`;
    await ctx.step("remind", () => console.log(`remind ${id}`));
    reminded();
    return `${await ctx.waitFor(paid)} cents, late`;
  } finally {
    await ctx.cleanup(() => ctx.step("close", () => console.log(`close ${id}`)));
  }
});

await using node = await createNode({ store: memoryStore(), programs: [trip] });

const first = await node.start(trip, "t-1");
await isReminded; // the lost wait does not take the message
await first.signal(paid, 300);
console.log(await first.result());

const second = await node.start(trip, "t-2");
while ((await second.status()).state !== "parked") await new Promise((resolve) => setTimeout(resolve, 5));
await second.cancel({ by: "ann", reason: "changed my mind" });
console.log(await second.result().catch((error) => error.code));

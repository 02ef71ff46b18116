// A serverless function: each call works until nothing can be claimed now, and ends before the platform freezes it.
import { createClient, createNode, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const order = workflow("order", async (ctx, id: string) => {
  await ctx.step("charge", () => `charged ${id}`);
  await ctx.sleep("cool off", "100ms");
  return ctx.step("ship", () => `shipped ${id}`);
});
const store = memoryStore(); // in production: postgres(process.env["DATABASE_URL"]), opened once per instance of the function

/** Called by a request after it has started a run, and by a timer of the platform, for what sleeps. */
export async function handler(): Promise<{ idle: boolean; worked: number }> {
  const node = await createNode({ store, programs: [order], signals: false });
  try {
    return await node.runUntilIdle({ timeout: "20s" });
  } finally {
    await node.stop({ grace: "5s" });
  }
}

const client = createClient({ store });
const runs = await Promise.all(["o-1", "o-2"].map((id) => client.start(order, id, { key: id })));
console.log((await handler()).idle, (await runs[0]!.status()).state);
await new Promise((resolve) => setTimeout(resolve, 150));
await handler();
console.log(await Promise.all(runs.map((run) => run.result({ timeout: "1s" }))));

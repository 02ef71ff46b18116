// Hono: routes start runs and decide approvals through a client; the node works in the same process, or in another one.

import { createClient, createNode, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { Hono } from "hono";

const order = workflow("order", async (ctx, input: { id: string; cents: number }) => {
  const { outcome } = await ctx.approval("ship", { ask: `Ship ${input.id}?` });
  return outcome === "approved" ? `shipped ${input.id}` : `kept ${input.id}`;
});

const store = memoryStore(); // in production: postgres(process.env["DATABASE_URL"])
const client = createClient({ store });
const app = new Hono()
  .post("/orders", async (c) => {
    const input = await c.req.json<{ id: string; cents: number }>();
    const run = await client.start(order, input, { key: input.id }); // a repeated request finds the same run
    return c.json({ run: run.id }, 202);
  })
  .post("/orders/:run/ship", async (c) => {
    await client.run(c.req.param("run")).decide("ship", { choice: "approved", by: "clerk" });
    return c.body(null, 204);
  })
  .get("/orders/:run", async (c) => {
    const { state } = await client.run(c.req.param("run")).status();
    return c.json({ state });
  });

const node = await createNode({ store, programs: [order] });

const post = (path: string, body?: object) =>
  app.request(path, { method: "POST", ...(body && { body: JSON.stringify(body) }) });
const { run } = (await (await post("/orders", { id: "o-1", cents: 300 })).json()) as { run: string };
const again = (await (await post("/orders", { id: "o-1", cents: 300 })).json()) as { run: string };
console.log(again.run === run);
for await (const { type } of client.run(run).watch()) if (type === "waiting") break;
console.log((await app.request(`/orders/${run}`)).status);
console.log((await post(`/orders/${run}/ship`)).status);
console.log(await client.run(run).result({ timeout: "5s" }));
await node.stop();

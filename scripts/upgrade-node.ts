// A node of one version of the code, for scripts/upgrade.ts, which copies this file into the older one: it uses only what both have.

import { createNode, workflow } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";

const [url, name, starts] = process.argv.slice(2) as [string, string, string];
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const tell = (event: string, detail: unknown = null) => process.send?.({ event, detail });

const child = workflow("child", async (ctx, n: number) => ctx.step("double", () => wait(20).then(() => 2 * n)));
const order = workflow("order", async (ctx, n: number) => {
  const step = (of: string) =>
    ctx.step(of, { retry: 1 }, () => {
      tell("step");
      return wait(30);
    });
  await step("reserve");
  await ctx.sleep("cool off", "1s");
  const doubled = await ctx.child(child, n);
  for (let i = 0; i < 10; i++) await step(`pack ${i}`);
  return doubled;
});

const store = postgres(url);
await store.migrate();
const node = await createNode({ store, programs: [order, child], identity: { id: name, build: "same" } });
process.on("message", async ({ start }: { start: number }) => {
  await Promise.all(Array.from({ length: start }, (_, n) => node.start(order, n)));
  tell("started");
});
await Promise.all(Array.from({ length: Number(starts) }, (_, n) => node.start(order, n)));
tell("ready");

// A whole program: a workflow, a node that works on its runs, and one run. Starting it again with the same key returns that run.
import { createNode, workflow } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { postgres } from "holdfast/postgres";

const hello = workflow("hello", async (ctx, name: string) => {
  const greeting = await ctx.step("greet", () => `Hello ${name}`);
  await ctx.sleep("breathe", "100ms");
  return ctx.step("shout", () => `${greeting}!`);
});

await using server = await startEmbedded(); // in production: postgres("postgres://…"), and `npx holdfast migrate` once
const store = postgres(server.url);
await store.migrate();

const node = await createNode({ store, programs: [hello] });
const run = await node.start(hello, "Ann", { key: "hello:ann" });
console.log(await run.result());

await node.stop();
await store.close();

// A client that starts runs and watches one, and a node that works until there is nothing left to do.
import { createClient, createNode, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const greet = workflow("greet", async (ctx, name: string) => {
  await ctx.progress("halfway");
  return ctx.step("say", () => `hello ${name}`);
});
const programs = [greet];
const store = memoryStore();

const client = createClient<typeof programs>({ store });
const run = await client.start("greet", "Ann", { key: "greet:ann" });
const [bob, again, other] = await client.startMany("greet", [
  { input: "Bob" },
  { input: "Ann", key: "greet:ann" },
  { input: "Eve", key: "greet:ann" },
]);
console.log(bob?.outcome, again?.outcome, other?.outcome);

const node = await createNode({ store, programs });
const { idle, worked } = await node.runUntilIdle({ timeout: "20s" });
await node.stop();
console.log(idle, worked);

for await (const event of run.watch()) {
  if (event.type === "progress") console.log(event.seq, event.value);
  if (event.type === "ended") console.log(event.seq, event.state, event.value);
}

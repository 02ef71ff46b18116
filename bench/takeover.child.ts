// A node process of the takeover benchmark: default settings; each step of its workflow is reported to the parent.

import { createNode } from "../src/node/create-node.js";
import { postgres } from "../src/store/postgres/index.js";
import { workflow } from "../src/workflow/workflow.js";

const [url, name] = process.argv.slice(2) as [string, string];

const order = workflow("takeover", async (ctx, hangs: boolean) => {
  await ctx.step("first", () => 1);
  await ctx.step("second", async () => {
    process.send!({ event: "step", runId: ctx.runId, name });
    // The first holder ends the step only on request; the node that reclaims the run completes it.
    if (hangs && !process.argv.includes("--finish")) await new Promise((resolve) => process.once("message", resolve));
  });
  await ctx.step("third", () => {
    process.send!({ event: "step", runId: ctx.runId, name });
  });
});

const store = postgres(url);
const node = await createNode({ store, programs: [order], identity: { id: name } });
process.on("SIGTERM", async () => {
  await node.stop({ grace: "5s" });
  await store.close();
  process.exit(0);
});
process.send!({ event: "ready", name });

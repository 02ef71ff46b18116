// A node process whose runs are loops of short steps; it notes when each is entered, on the clock that all processes of a machine share.

import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";

const [url, schema] = process.argv.slice(2) as [string, string];
const note = (runId: string) => process.send!({ runId, at: String(process.hrtime.bigint()) });
const loop = workflow("far-loop", async (ctx) => {
  for (let n = 0; n < 5_000; n++) await ctx.step("short", () => void note(ctx.runId));
});
const branches = workflow("far-branches", async (ctx) => {
  const branch = async (name: string) => {
    for (let n = 0; n < 1_000; n++) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      await ctx.step(name, () => void note(ctx.runId));
    }
  };
  await Promise.all([branch("a"), branch("b")]);
});
await createNode({ store: openPostgres(url, { schema }), programs: [loop, branches] });
process.send!({ ready: true });
process.on("disconnect", () => process.exit(0));

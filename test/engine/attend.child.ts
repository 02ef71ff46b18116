// A node process whose workflow hangs in its second step, for the tests that kill it.

import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";

const [url, schema] = process.argv.slice(2) as [string, string];
const order = workflow("attended", async (ctx) => {
  await ctx.step("first", () => 1);
  await ctx.step("second", () => {
    process.send!("second");
    return new Promise<never>(() => {});
  });
});
await createNode({
  store: openPostgres(url, { schema }),
  programs: [order],
  timing: { lease: "60s" },
  identity: { id: "victim" },
});
process.send!("ready");

// A node process with a schedule of a second, for the test that kills such processes while it fires.

import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { every } from "../../src/trigger/schedule.js";
import { workflow } from "../../src/workflow/workflow.js";

const [url, schema, identity] = process.argv.slice(2) as [string, string, string];
const tick = workflow("tick", { on: [every("1s", { catchUp: "all" })] }, async (ctx, input) =>
  ctx.step("note", () => input.window),
);
const node = await createNode({
  store: openPostgres(url, { schema }),
  programs: [tick],
  identity: { id: identity },
  timing: { presenceGrace: "300ms", housekeeping: "200ms" },
});
process.on("message", async () => {
  await node.stop({ grace: "1s" });
  process.exit(0);
});
process.on("disconnect", () => process.exit(0));
process.send!("ready");

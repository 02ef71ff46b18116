// A node process as an application writes it, without options for signals, for the tests that send them at any moment.

import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";

const [url, schema, how = ""] = process.argv.slice(2) as [string, string, string?];
const say = (text: string) => process.stdout.write(`${text}\n`);
const busy = workflow("early", async (ctx) => {
  for (let n = 0; n < 50; n++) await ctx.step("work", () => new Promise((resolve) => setTimeout(resolve, 20)));
});
if (how === "listens itself") process.once("SIGTERM", () => say("the application heard it"));
const options = how === "says false" ? { signals: false as const } : {};
const creating = createNode({ store: openPostgres(url, { schema }), programs: [busy], ...options });
// Before that, no code of ours has run that could listen.
say("creating");
const node = await creating;
if (how === "listens later") process.once("SIGTERM", () => say("the application heard it"));
node.on("node.stopped", () => say("stopped"));
await node.start(busy);
say("ready");

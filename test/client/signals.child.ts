// A node process that stops on signals, with one step in progress, for the tests that send them.

import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";

const [url, schema, stepMs, grace] = process.argv.slice(2) as [string, string, string, string];
const say = (text: string) => process.stdout.write(`${text}\n`);
const signalled = workflow("signalled", async (ctx) => {
  await ctx.step("slow", () => {
    say("in the step");
    return new Promise((resolve) => setTimeout(resolve, Number(stepMs)));
  });
  await ctx.step("never here", () => say("began another step"));
});
const node = await createNode({
  store: openPostgres(url, { schema }),
  programs: [signalled],
  signals: true,
  timing: { shutdownGrace: Number(grace) },
});
node.on("node.stopped", () => say("stopped"));
if (process.argv[6] === "beside an idle node") {
  const idle = await createNode({ store: openPostgres(url, { schema }), programs: [], signals: true });
  idle.on("node.stopped", () => say("the idle one has ended"));
}
say(`ready ${process.pid}`);
await node.start(signalled);

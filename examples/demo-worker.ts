// One node process of the demonstration; tells its parent what happens.

import { createNode } from "../src/client/create-node.js";
import { postgres } from "../src/store/postgres/index.js";
import { order } from "./order.js";

const [url, name, env] = process.argv.slice(2) as [string, string, string];
// A short lease, so that a frozen node is missed while you watch.
const node = await createNode({
  store: postgres(url),
  programs: [order],
  identity: name,
  env,
  lease: "3s",
  concurrency: 2,
  startupGrace: 0,
});
node.on("run.claimed", ({ runId, epoch }) => process.send!({ event: "claimed", runId, epoch }));
node.on("claim.lost", ({ runId, epoch }) => process.send!({ event: "lost", runId, epoch }));
node.on("run.reclaimed", (reclaimed) => process.send!({ event: "reclaimed", ...reclaimed }));
process.on("disconnect", () => process.exit(0));
process.send!({ event: "ready" });

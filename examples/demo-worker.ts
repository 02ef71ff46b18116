// One node process of the demonstration; it reports to its parent what happens.

import { createNode } from "../src/node/create-node.js";
import { postgres } from "../src/store/postgres/index.js";
import { order } from "./order.js";

// A short lease, so that a frozen node is missed while you watch.
const store = postgres(process.env["HOLDFAST_DATABASE_URL"]!);
const node = await createNode({
  store,
  programs: [order],
  timing: { lease: "3s" },
  concurrency: 2,
});
node.on("run.claimed", ({ runId, epoch }) => process.send?.({ event: "claimed", runId, epoch }));
node.on("run.settled", ({ runId }) => process.send?.({ event: "settled", runId }));
node.on("claim.lost", ({ runId, epoch }) => process.send?.({ event: "lost", runId, epoch }));
node.on("run.reclaimed", (reclaimed) => process.send?.({ event: "reclaimed", ...reclaimed }));
// Ctrl-C reaches every process of the terminal: the parent decides when we stop.
process.on("SIGINT", () => {});
process.on("SIGTERM", async () => {
  await node.stop({ grace: "5s" });
  await store.close();
  process.exit(0);
});
process.on("disconnect", () => process.exit(0));
process.send?.({ event: "ready" });

// One node process of a development cluster: loads the programs of the app, serves them, and reports what happens.

import { createNode, type Node } from "../node/create-node.js";
import { postgres } from "../store/postgres/index.js";
import { loadPrograms, problemOf } from "./load-app.js";
import type { NodeReport } from "./node-report.js";

const report = (one: NodeReport) => {
  if (process.connected) process.send?.(one);
};

/** As it reaches every process of the terminal, ctrl-c is left to the parent; it sends SIGTERM, which the node handles. */
process.on("SIGINT", () => {});
process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));

async function start(): Promise<void> {
  const programs = await loadPrograms(process.env["HOLDFAST_DEV_APP"] ?? "");
  const store = postgres(process.env["HOLDFAST_DATABASE_URL"] ?? "");
  // A short lease, so that a frozen node is missed while you watch.
  const timing = { lease: "3s", shutdownGrace: "5s" } as const;
  const node = await createNode({ store, programs, timing, concurrency: 4 });
  reportEvents(node);
  report({ is: "ready", incarnation: node.incarnation });
}

function reportEvents(node: Node): void {
  node.on("run.claimed", ({ runId, program, epoch, parentId }) =>
    report({ is: "claimed", runId, program, epoch, parent: parentId !== null }),
  );
  node.on("step.started", ({ runId, step }) => report({ is: "step", runId, step, as: "begun" }));
  node.on("step.completed", ({ runId, step }) => report({ is: "step", runId, step, as: "done" }));
  node.on("step.retried", ({ runId, step }) => report({ is: "step", runId, step, as: "retried" }));
  node.on("step.failed", ({ runId, step }) => report({ is: "step", runId, step, as: "failed" }));
  node.on("run.settled", ({ runId, as, error }) => report({ is: "settled", runId, as, error }));
  node.on("claim.lost", ({ runId, epoch }) => report({ is: "lost", runId, epoch }));
  node.on("run.reclaimed", ({ runId, previousName, previousOwner, expiredForMs }) =>
    report({ is: "reclaimed", runId, from: previousName ?? previousOwner.slice(0, 8), expiredForMs }),
  );
}

start().catch((error) => {
  // Before it ends: the parent shows why.
  process.send?.({ is: "broken", problem: problemOf(error) } satisfies NodeReport, () => process.exit(1));
});

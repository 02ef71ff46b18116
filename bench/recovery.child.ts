// A node process of the recovery benchmark, at default settings unless the benchmark says otherwise.

import { createNode, type NodeOptions } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";
import { programsOf, type Report } from "./recovery-programs.js";

export interface ChildConfig {
  readonly url: string;
  readonly schema: string;
  readonly version: 1 | 2;
  readonly options: Partial<Pick<NodeOptions, "identity" | "concurrency">>;
}

// By the environment: arguments are readable by every user of the machine, and the URL has a password.
const { url, schema, version, options } = JSON.parse(process.env["HOLDFAST_BENCH_CHILD"]!) as ChildConfig;
const report = (one: Report) => void (process.connected && process.send!(one, () => {}));
const hanging = new Set<(released: unknown) => void>();
const released = () => new Promise((resolve) => hanging.add(resolve));
// Registered at once: Node keeps a message that nothing listens to for the next listener.
process.on("message", () => {
  for (const resolve of hanging) resolve(null);
  hanging.clear();
});

const node = await createNode({
  store: postgres(url, { schema }),
  programs: Object.values(programsOf(version, { report, released })),
  signals: true,
  ...options,
});
node.on("claim.lost", ({ runId, epoch }) => report({ event: "lost", runId, epoch }));
process.on("disconnect", () => process.exit(0));
report({ event: "ready" });

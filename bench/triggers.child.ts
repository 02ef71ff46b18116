// An idle node in a process of its own: reports when a run started by an event begins.

import { createNode, event, on, workflow } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";

const [url, schema] = process.argv.slice(2) as [string, string];
const pickedUp = event<{ n: number }>()("picked up");

// The monotonic clock of the machine: the same one in every process.
const program = workflow("picked-up", { on: [on(pickedUp)] }, async () => {
  process.send!({ at: String(process.hrtime.bigint()) });
});

await createNode({ store: postgres(url, { schema }), programs: [program], identity: { id: "idle" } });
process.on("disconnect", () => process.exit(0));
process.send!("ready");

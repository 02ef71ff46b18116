// An idle node in a process of its own: reports when an episode started by an event begins.

import { actor, expectation } from "../src/actor/index.js";
import { createNode, event, on } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";

const [url, schema] = process.argv.slice(2) as [string, string];
const pickedUp = event<{ n: number }>()("picked up");
const pickedUpInTurn = event<{ n: number }>()("picked up in turn");

// The monotonic clock of the machine: the same one in every process.
const seen = async () => void process.send!({ at: String(process.hrtime.bigint()) });
const free = actor("free", { expectations: { seen: expectation({ on: [on(pickedUp)] }, seen) } });
const limited = actor("limited", {
  concurrency: 10,
  expectations: { seen: expectation({ on: [on(pickedUpInTurn)] }, seen) },
});

await createNode({ store: postgres(url, { schema }), programs: [free, limited], identity: { id: "idle" } });
process.on("disconnect", () => process.exit(0));
process.send!("ready");

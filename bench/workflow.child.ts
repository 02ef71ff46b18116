// An idle node in a process of its own: reports when it begins a run, and how many statements it has sent.

import pg from "pg";
import { createNode, workflow } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";

const [url, schema] = process.argv.slice(2) as [string, string];
let sent = 0;
const query = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => unknown;
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  sent++;
  return query.apply(this, args);
} as never;

// The monotonic clock of the machine: the same one in every process.
const pickedUp = workflow("picked-up", async (ctx) => {
  process.send!({ runId: ctx.runId, at: String(process.hrtime.bigint()) });
});

await createNode({ store: postgres(url, { schema }), programs: [pickedUp], identity: { id: "idle" } });
process.on("message", () => process.send!({ sent }));
process.on("disconnect", () => process.exit(0));
process.send!({ sent });

// Two clusters with databases of their own that must not do the same work at the same time: a third database decides.
import { createNode, workflow } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { memoryStore } from "holdfast/memory";
import pg from "pg";
import { tableClaims, tableSql } from "./table-claims.js";

await using server = await startEmbedded();
const pool = new pg.Pool({ connectionString: server.url });
await pool.query(tableSql);

let atWork = 0;
const sync = workflow("sync", async (ctx) => {
  await ctx.step("copy", async () => {
    console.log(`${++atWork} at work`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    atWork--;
  });
});

const cluster = (identity: string) =>
  createNode({
    store: memoryStore(),
    programs: [sync],
    identity: { id: identity },
    flow: { claims: { adapter: tableClaims(pool), lease: "5s" } },
  });
const [east, west] = await Promise.all([cluster("east"), cluster("west")]);
const runs = await Promise.all([east, west].map((node) => node.start(sync, undefined, { key: "sync:customer-7" })));
await Promise.all(runs.map((run) => run.result()));
await Promise.all([east.stop(), west.stop()]);
const { rows } = await pool.query("select state, epoch::int, attempt from work_claims");
console.log(rows);
await pool.end();

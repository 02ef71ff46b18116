// A process that sweeps: fires each timeout by one conditional write, and prints what it did when it is stopped.

import pg from "pg";
import { openPostgres } from "../../src/store/postgres/open.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import { TimeoutSweeper } from "../../src/timeout/sweeper.js";

const [url, schema, nodeId, election] = process.argv.slice(2) as [string, string, string, string];
const store = openPostgres(url, { schema });
const pool = new pg.Pool({ connectionString: url, max: 5 });
pool.on("error", () => {});
const sweeper = new TimeoutSweeper({
  store: timeoutStore(store, { scope: "order" }),
  nodeId,
  sweepInterval: "200ms",
  claimDuration: "2s",
  ...(election === "leader" && { leaderElection: { lease: "3s", renew: "1s" } }),
  fire: async ({ instance, state, sequence, deadline, attempts }) => {
    const { rowCount } = await pool.query(
      `with moved as (
         update ${schema}.orders set state = 'expired', seq = seq + 1 where id = $1 and state = $2 and seq = $3 returning id, due
       )
       insert into ${schema}.fired (id, node, late_ms, seen_deadline, attempts)
       select id, $4, extract(epoch from clock_timestamp() - due) * 1000, to_timestamp($5::float8 / 1000), $6 from moved`,
      [instance, state, sequence, nodeId, deadline, attempts],
    );
    return rowCount === 1 ? "fired" : "stale";
  },
});
sweeper.on("sweeper.elected", ({ epoch }) => console.log(JSON.stringify({ elected: Number(epoch) })));
sweeper.on("sweeper.error", ({ during, error }) => console.error(during, error));
sweeper.on("timeout.failed", ({ instance, error }) => console.error(instance, error));
sweeper.start();
console.log(JSON.stringify({ ready: process.pid, wallNow: Date.now() }));

process.once("SIGTERM", async () => {
  await sweeper.stop();
  console.log(JSON.stringify(sweeper.metrics()));
  await store.close();
  await pool.end();
});

// Orders that expire even when the process that took them is gone: a timeout per order, fired by one conditional write.
import { startEmbedded } from "holdfast/embedded";
import { postgres } from "holdfast/postgres";
import { TimeoutSweeper, timeoutStore } from "holdfast/timeout";
import pg from "pg";

await using server = await startEmbedded();
const url = process.env["DATABASE_URL"] ?? server.url;
const store = postgres(url);
await store.migrate();
const pool = new pg.Pool({ connectionString: url });
await pool.query("create table if not exists orders (id text primary key, state text, seq bigint)");

type OrderState = "pending" | "paid" | "expired";
const timeouts = timeoutStore<string, OrderState>(store, { scope: "order" });

// The order enters its state and its timeout is armed: in one transaction, or not at all.
async function take(id: string) {
  const tx = await pool.connect();
  await tx.query("begin");
  await tx.query("insert into orders values ($1, 'pending', 1)", [id]);
  await timeouts.schedule(id, { state: "pending", sequence: 1, in: "500ms" }, { tx });
  await tx.query("commit");
  tx.release();
}

await using sweeper = new TimeoutSweeper({
  store: timeouts,
  leaderElection: { lease: "30s", renew: "10s" },
  fire: async ({ instance, state, sequence }) => {
    // One write that checks and moves: a payment in between wins or loses, and nothing happens twice.
    const { rowCount } = await pool.query(
      "update orders set state = 'expired', seq = seq + 1 where id = $1 and state = $2 and seq = $3",
      [instance, state, sequence],
    );
    return rowCount === 1 ? "fired" : "stale";
  },
});
const ended = new Promise((resolve) => {
  sweeper.on("timeout.fired", () => sweeper.metrics().skipped === 1 && resolve(null));
  sweeper.on("timeout.stale", () => sweeper.metrics().fired === 1 && resolve(null));
});

await take("order-1");
await take("order-2");
await pool.query("update orders set state = 'paid', seq = seq + 1 where id = 'order-2' and state = 'pending'");
sweeper.start();
await ended;

console.log((await pool.query("select id, state from orders order by id")).rows);
const { fired, skipped, errors } = sweeper.metrics();
console.log({ fired, skipped, errors });
await sweeper.stop();
await pool.end();
await store.close();

// A run that exists exactly when your own row does: inserted in the caller's transaction, claimed by any node after the commit.
import { startEmbedded } from "holdfast/embedded";
import { postgres } from "holdfast/postgres";
import pg from "pg";

await using server = await startEmbedded();
const pool = new pg.Pool({ connectionString: server.url });
pool.on("error", () => {}); // an idle connection that breaks is replaced; without a listener it would end the process
const store = postgres(pool);
await store.migrate();
await pool.query("create table if not exists orders (id text primary key)");

const group = { env: "default", stack: null, queue: "orders", program: "ship-order", version: null };
const id = crypto.randomUUID();
const run = { id, group, priority: 0, delayMs: 0, crashLimit: 5, input: { codec: "json", data: `{"order":"o-1"}` } };

const client = await pool.connect();
await client.query("begin");
await client.query("insert into orders values ($1) on conflict do nothing", ["o-1"]);
await store.runs.insert([run], { tx: client });
await client.query("commit");
client.release();

console.log((await store.runs.get(id))?.state);
await store.close();
await pool.end();

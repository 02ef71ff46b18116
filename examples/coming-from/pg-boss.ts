// A queue of mails in place of pg-boss: started in the caller's own transaction, tried again, retried from the dead letters.
import { createNode, cron, PermanentError, workflow } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { postgres } from "holdfast/postgres";
import pg from "pg";

interface User {
  id: string;
  email: string;
}

const blocked = new Set(["bob@example.com"]);

const welcome = workflow("welcome", async (ctx, user: User) =>
  ctx.step("send", { retry: { attempts: 5, delay: "1s" }, timeout: "1m" }, ({ idempotencyKey }) =>
    sendMail(user.email, idempotencyKey),
  ),
);
const digest = workflow("digest", { on: [cron("0 8 * * 1", { timezone: "Europe/Berlin" })] }, async (ctx, { window }) =>
  ctx.step("send", () => `digest of ${window}`),
);

await using server = await startEmbedded();
const pool = new pg.Pool({ connectionString: server.url });
pool.on("error", () => {});
const store = postgres(pool);
await store.migrate();
await pool.query("create table if not exists users (id text primary key, email text not null)");
const node = await createNode({ store, programs: [welcome, digest], concurrency: 5, logger: false });

/** The user and the run exist together, or neither does. */
async function signUp(user: User) {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("insert into users values ($1, $2) on conflict do nothing", [user.id, user.email]);
    const run = await node.start(welcome, user, { key: user.id, tx: client });
    await client.query("commit");
    return run;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

const ann = await signUp({ id: "u-1", email: "ann@example.com" });
console.log(await ann.result());

const bob = await signUp({ id: "u-2", email: "bob@example.com" });
console.log(await bob.result().catch((error) => error.cause.message));
blocked.clear(); // the fix
console.log(await node.dead.retryAll({ program: "welcome" }), "retried:", await bob.result());

await node.stop();
await store.close();
await pool.end();

async function sendMail(email: string, key: string) {
  if (blocked.has(email)) throw new PermanentError(`${email} is refused`);
  return `mail to ${email}${key ? "" : ", without a key"}`;
}

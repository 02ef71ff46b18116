// An existing application with a pool of its own: a schema for each tenant, a node for each schema, one pool for all.
import { createNode, workflow } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { postgres } from "holdfast/postgres";
import pg from "pg";

await using server = await startEmbedded();
const pool = new pg.Pool({ connectionString: server.url });
pool.on("error", () => {}); // an idle connection that breaks is replaced; without a listener it would end the process

const tenants = new Map(["acme", "globex"].map((name) => [name, postgres(pool, { schema: `tenant_${name}` })]));

const hello = workflow("hello", async (ctx, name: string) => ctx.step("greet", () => `Hello ${name}!`));
for (const [name, store] of tenants) {
  await store.migrate();
  const node = await createNode({ store, programs: [hello] });
  const run = await node.start(hello, name, { key: "first" });
  console.log(await run.result({ timeout: "10s" }), (await node.runs.list()).runs.length);
  await node.stop();
  await store.close();
}
await pool.end();

// The PostgreSQL store keeps the store's contract, with a role that has the rights of SECURITY.md and no others.

import { expect, test } from "vitest";
import { createNode, signal, workflow } from "../../src/index.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { grants, leastRole } from "../harness/least-role.js";
import { snapshotStatements, watchStatements } from "../harness/watch-statements.js";
import { conformOnPostgres } from "./on-postgres.js";

const { url, schema, pool } = testSchema();
const role = leastRole(pool, url, schema);

let ran: ReturnType<typeof watchStatements>;
conformOnPostgres(async () => ({
  url,
  schema,
  runtimeUrl: role.url,
  onReady: (how) => {
    ran = watchStatements(how);
  },
}));

test("a node works with these rights: a step, a transaction, a child, a signal, a sleep", async () => {
  const ask = signal<number>("ask");
  const child = workflow("child", async () => 1);
  const parent = workflow("parent", async (ctx) => {
    const first = await ctx.step("first", () => 1);
    const second = await ctx.transaction("second", async (tx) => {
      await tx.query("select 1", []);
      return 1;
    });
    await ctx.sleep("a moment", 10);
    return first + second + (await ctx.child(child, undefined)) + (await ctx.waitFor(ask));
  });
  const store = openPostgres(await role.url(), { schema });
  const node = await createNode({ store, programs: [child, parent], env: "least" });
  const run = await node.start(parent, undefined);
  await run.signal(ask, 1);
  expect(await run.result({ timeout: "20s" })).toBe(4);
  // There is nothing to do, and that can be seen with these rights.
  expect((await store.migrate()).applied).toEqual([]);
  await node.stop();
  await store.close();
});

test("every statement that ran is in the snapshot, as it ran", () => {
  const known = snapshotStatements();
  const { texts, named, stop } = ran;
  stop();
  expect([...texts].filter((text) => !known.texts.has(text))).toEqual([]);
  expect([...named].filter((name) => !known.names.has(name))).toEqual([]);
  // Most of them run here: a watcher that sees nothing would find nothing missing.
  expect(texts.size).toBeGreaterThan(100);
});

test("the role has no other rights, and each of them is needed", async () => {
  const { rows } = await pool.query(
    "select rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls as more from pg_roles where rolname = $1",
    [role.name],
  );
  expect(rows).toEqual([{ more: false }]);
  expect(grants(schema, role.name)).toHaveLength(3);
  const without = openPostgres(await role.url(), { schema });
  await pool.query(`revoke update on all sequences in schema ${schema} from ${role.name}`);
  try {
    await expect(createNode({ store: without, programs: [], env: "without" })).rejects.toThrow(/permission denied/);
  } finally {
    for (const grant of grants(schema, role.name)) await pool.query(grant);
    await without.close();
  }
});

// Limits across processes: what several nodes do at once, by the database's own clock, and what a killed one leaves behind.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { type LimitedInput, limitedOrder, PER_CUSTOMER } from "./limited-order.js";

const { url, schema, pool } = testSchema();
const children: ChildProcess[] = [];
let store: PostgresStore;
let node: Node;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
  await pool.query(`create table ${schema}.work (id int generated always as identity primary key, customer text,
    run uuid, by text, began timestamptz, ended timestamptz)`);
  node = await createNode({ store, programs: [], timing: { presenceGrace: "300ms", housekeeping: "100ms" } });
});
beforeEach(() => pool.query(`truncate ${schema}.work`));
afterAll(async () => {
  const living = children.filter((child) => child.exitCode === null && child.signalCode === null);
  await Promise.all(living.map((child) => [child.send("stop"), once(child, "exit")][1]));
  await node.stop();
  await store.close();
});

async function startNode(identity: string): Promise<ChildProcess> {
  const file = compiled(join(import.meta.dirname, "limits.child.ts"));
  const child = fork(file, [url, schema, identity], { execArgv: [] });
  children.push(child);
  await once(child, "message");
  return child;
}

const order = limitedOrder(pool, schema, "nobody");
const start = (input: LimitedInput) => node.start(order, input);

/** The most attempts of one customer that ran at the same moment; one that never ended counts until its run was taken over. */
async function mostAtOnce(): Promise<number> {
  const { rows } = await pool.query<{ most: number }>(
    `select max(n)::int as most from (
       select (select count(*) from ${schema}.work b
               where b.customer = a.customer and b.began <= a.began and coalesce(b.ended, b.began) >= a.began) as n
       from ${schema}.work a) x`,
  );
  return rows[0]!.most;
}

test("three processes work off 200 runs, two of a customer at a time and never three", async () => {
  await Promise.all(["one", "two", "three"].map(startNode));
  const inputs = Array.from({ length: 200 }, (_, i) => ({ customer: `c${i % 5}` }));
  const runs = await Promise.all(inputs.map(start));
  await Promise.all(runs.map((run) => run.result({ timeout: "60s" })));
  expect(await mostAtOnce()).toBe(PER_CUSTOMER);
  const { rows } = await pool.query(`select count(*)::int as attempts, count(distinct run)::int as runs,
    count(distinct by)::int as nodes from ${schema}.work where ended is not null`);
  expect(rows).toEqual([{ attempts: 200, runs: 200, nodes: 3 }]);
  const left = await pool.query(`select 1 from ${schema}.run_limits where state in ('waits', 'granted')`);
  expect(left.rows).toEqual([]);
}, 90_000);

test("a killed process leaves no slot behind: its run is taken over and the line moves", async () => {
  for (const child of children.splice(0)) {
    child.send("stop");
    await once(child, "exit");
  }
  const victim = await startNode("victim");
  const held = [await start({ customer: "k", hang: true }), await start({ customer: "k", hang: true })];
  const behind = [await start({ customer: "k" }), await start({ customer: "k" })];
  const begun = async () => (await pool.query(`select 1 from ${schema}.work`)).rows.length;
  await expect.poll(begun, { timeout: 20_000 }).toBe(2);
  expect((await behind[0]!.status()).state).toBe("held");
  victim.kill("SIGKILL");
  await startNode("heir");
  await Promise.all([...held, ...behind].map((run) => run.result({ timeout: "40s" })));
  const by = await pool.query(`select run from ${schema}.work where by = 'heir' and ended is not null`);
  expect(new Set(by.rows.map(({ run }) => run))).toEqual(new Set([...held, ...behind].map(({ id }) => id)));
}, 90_000);

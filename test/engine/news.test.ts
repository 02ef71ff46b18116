// What a caller's transaction leaves for a node is found at once, not at the next housekeeping.

import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";

const { url, schema } = testSchema();
const paid = signal<number>("paid");
const waits = workflow("waits", async (ctx) => ctx.waitFor(paid));
const limited = workflow("limited", { concurrency: 1 }, async () => "done");
/** Nothing else would find it before the tests time out. */
const SLOW = { timing: { housekeeping: "60s", pollInterval: "60s", pollMax: "60s", lease: "90s" } } as const;
let store: PostgresStore;
let node: Node;
let pool: pg.Pool;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
  node = await createNode({ store, programs: [waits, limited], ...SLOW });
  pool = new pg.Pool({ connectionString: url, max: 1 });
});
afterAll(async () => {
  await node.stop();
  await pool.end();
  await store.close();
});

async function inTransaction(work: (tx: pg.PoolClient) => Promise<unknown>): Promise<void> {
  const client = await pool.connect();
  await client.query("begin");
  await work(client);
  await client.query("commit");
  client.release();
}

test("a signal sent in a transaction wakes its run", async () => {
  for (let i = 0; i < 5; i++) {
    const run = await node.start(waits);
    await expect.poll(async () => (await run.status()).state).toBe("parked");
    await inTransaction((tx) => run.signal(paid, i, { tx }));
    expect(await run.result({ timeout: "10s" })).toBe(i);
  }
});

test("a run that is handed back and a child that is started wake other processes at once", async () => {
  const child = workflow("child", async () => "child");
  const parent = workflow("parent", async (ctx) => ctx.child(child, undefined));
  const far = openPostgres(url, { schema });
  const other = await createNode({ store: far, programs: [child], ...SLOW });
  const here = await createNode({ store, programs: [parent], ...SLOW });
  const run = await here.start(parent);
  expect(await run.result({ timeout: "10s" })).toBe("child");
  await here.stop();

  let hold = true;
  const moved = workflow("moved", async (ctx) => {
    await ctx.step("wait", async ({ signal: over }) => {
      while (hold && !over.aborted) await new Promise((resolve) => setTimeout(resolve, 10));
    });
    return ctx.step("after", () => "done");
  });
  const first = await createNode({ store, programs: [moved], ...SLOW });
  const handed = await first.start(moved);
  await expect.poll(() => first.active).toBe(1);
  const second = await createNode({ store: far, programs: [moved], ...SLOW });
  const stopped = first.stop();
  hold = false;
  await stopped;
  expect(await second.run(handed.id).result({ timeout: "10s" })).toBe("done");
  await Promise.all([second.stop(), other.stop()]);
  await far.close();
});

test("a run that becomes claimable by another node's housekeeping wakes the nodes that have its program", async () => {
  const naps = workflow("naps", async (ctx) => {
    await ctx.sleep("nap", 300);
    return "awake";
  });
  const far = openPostgres(url, { schema });
  const housekeeper = await createNode({ store: far, programs: [], timing: { housekeeping: 50 }, env: "naps" });
  const sleeper = await createNode({ store, programs: [naps], env: "naps", ...SLOW });
  for (let i = 0; i < 3; i++) {
    const run = await sleeper.start(naps);
    expect(await run.result({ timeout: "10s" })).toBe("awake");
  }
  await Promise.all([sleeper.stop(), housekeeper.stop()]);
  await far.close();
});

test("a limited run started in a transaction is admitted", async () => {
  let id = "";
  await inTransaction(async (tx) => {
    id = (await node.start(limited, undefined, { tx })).id;
  });
  expect(await node.run(id).result({ timeout: "10s" })).toBe("done");
});

test("with notifications switched off nothing is woken, and everything is found by polling", async () => {
  const quiet = openPostgres(url, { schema, notify: false });
  const listener = new pg.Client({ connectionString: url });
  await listener.connect();
  const heard: unknown[] = [];
  listener.on("notification", ({ payload }) => heard.push(payload));
  await listener.query(`listen "holdfast:${schema}"`);
  const looking = await createNode({
    store: quiet,
    programs: [waits],
    timing: { pollInterval: 50, pollMax: 50 },
    env: "quiet",
  });
  const run = await looking.start(waits);
  await expect.poll(async () => (await run.status()).state).toBe("parked");
  await run.signal(paid, 7);
  expect(await run.result({ timeout: "10s" })).toBe(7);
  await looking.stop();
  await quiet.close();
  await listener.end();
  expect(heard).toEqual([]);
});

// A name that led to a read-only server for a while: clients connected there return when the name is right, without a cut.

import { setTimeout as pass } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { createNode } from "../../src/node/create-node.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { type FaultProxy, startProxy } from "../harness/proxy.js";
import { ServerYard, type StreamingServer } from "../harness/streaming.js";

const schema = "holdfast";
/** After the name is right. */
const BACK_MS = 5_000;
let yard: ServerYard;
let primary: StreamingServer;
let standby: StreamingServer;
/** The name: new connections follow its address, open ones stay where they are. */
let name: FaultProxy;
let address: { host: string; port: number };
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  yard = await ServerYard.open();
  primary = await yard.primary("first");
  const store = openPostgres(primary.url, { schema });
  await store.migrate();
  await store.close();
  await primary.query("create table booked (run text)");
  standby = await yard.replica("second", primary);
}, 90_000);
afterAll(() => yard.close());
beforeEach(async () => {
  address = { host: "127.0.0.1", port: primary.port };
  name = await startProxy(address);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await name.stop();
});

/** Everything reconnects to the standby; then the name leads back, and nothing is cut. */
async function leadAstray(forMs: number): Promise<void> {
  address.port = standby.port;
  name.resetAll();
  await pass(forMs);
  address.port = primary.port;
}

const ways: [string, () => PostgresStore][] = [
  ["connections of its own", () => openPostgres(name.url(primary.url), { schema })],
  [
    "a pool of the application's",
    () => {
      const pool = new pg.Pool({ connectionString: name.url(primary.url), max: 4 });
      pool.on("error", () => {});
      closing.push(() => pool.end());
      return openPostgres(pool, { schema });
    },
  ],
];

describe.for(ways)("with %s", ([, open]) => {
  const openStore = () => {
    const store = open();
    closing.push(() => store.close());
    return store;
  };
  const quick = workflow("quick", async (ctx) => {
    await ctx.transaction("book", async (tx) => void (await tx.query("insert into booked values ($1)", [ctx.runId])));
    return ctx.step("s", () => 1);
  });
  const openNode = async () => {
    const node = await createNode({
      store: openStore(),
      env: "moved",
      identity: { id: "n" },
      timing: { lease: "15s" },
      programs: [quick],
    });
    closing.push(() => node.stop({ grace: "1s" }));
    return node;
  };

  test("a client that starts runs is back in time", { timeout: 60_000 }, async () => {
    const client = createClient({ store: openStore(), env: "moved" });
    await client.start(quick);
    const astray = leadAstray(3_000);
    await pass(500);
    const during = Array.from({ length: 8 }, () => client.start(quick));
    await astray;
    const rightAt = performance.now();
    await Promise.all(during);
    await client.start(quick);
    expect(performance.now() - rightAt).toBeLessThan(BACK_MS);
  });

  test("a node is back in time: its claims, its renewals, its presence", { timeout: 60_000 }, async () => {
    const node = await openNode();
    expect(await (await node.start(quick)).result({ timeout: "10s" })).toBe(1);
    await leadAstray(4_000);
    const rightAt = performance.now();
    const runs = await Promise.all(Array.from({ length: 10 }, () => node.start(quick)));
    for (const run of runs) expect(await run.result({ timeout: "20s" })).toBe(1);
    expect(performance.now() - rightAt).toBeLessThan(BACK_MS);
    // Its presence lock is held on the right server.
    const locked = `select 1 from ${schema}.nodes n join pg_locks l on l.locktype = 'advisory' and l.objid = n.presence
      where n.stopped_at is null and n.env = 'moved'`;
    await expect.poll(async () => (await primary.query(locked)).length, { timeout: 3_000 }).toBe(1);
  });
});

test("a client that only reads does not stay connected to the standby", { timeout: 60_000 }, async () => {
  const reader = openPostgres(name.url(primary.url), { schema });
  closing.push(() => reader.close());
  const read = () => reader.runs.count({ env: "moved" });
  const onStandby = () => standby.query("select 1 from pg_stat_activity where application_name = 'holdfast'");
  await read();
  address.port = standby.port;
  name.resetAll();
  await expect.poll(() => read().then(onStandby), { timeout: 5_000 }).toHaveLength(1);
  address.port = primary.port;
  for (const rightAt = performance.now(); performance.now() - rightAt < 3_000; await pass(100)) await read();
  expect(await onStandby()).toEqual([]);
});

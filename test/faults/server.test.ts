// Faults of a server of its own: one of its backends killed, an old backup put in its place, its queue of notifications full.

import { setTimeout as pass } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { createNode, type Node, type RunHandle, workflow } from "../../src/index.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { type FaultProxy, startProxy } from "../harness/proxy.js";
import { ServerYard, type StreamingServer } from "../harness/streaming.js";

/** The smallest queue of notifications, of 8 kB pages, that a server can have. */
const SMALL_QUEUE = ["max_notify_queue_pages=64"];
const TIMING = { timing: { housekeeping: 100, pollInterval: 50, pollMax: 200, lease: "5s" } } as const;
let yard: ServerYard;
/** The address of nodes and clients: it leads to the server that runs. */
let proxy: FaultProxy;
let address: { host: string; port: number };
let server: StreamingServer;
const stores: PostgresStore[] = [];
const nodes: Node[] = [];

beforeAll(async () => {
  yard = await ServerYard.open();
  server = await yard.primary("server", { settings: SMALL_QUEUE });
}, 60_000);
afterAll(() => yard.close());
beforeEach(async () => {
  address = { host: "127.0.0.1", port: server.port };
  proxy = await startProxy(address);
});
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.stop({ grace: 0 })));
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await proxy.stop();
});

function leadTo(next: StreamingServer): void {
  server = next;
  address.port = next.port;
  proxy.resetAll();
}

async function open(options: { readonly connections?: number } = {}): Promise<PostgresStore> {
  const store = openPostgres(proxy.url(server.url), { queryTimeout: "2s", ...options });
  stores.push(store);
  await store.migrate();
  return store;
}

const steps = workflow("steps", async (ctx, count: number) => {
  const done: number[] = [];
  for (let i = 0; i < count; i++) done.push(await ctx.step(`s${i}`, { retry: 1 }, () => pass(20, i)));
  return done;
});

/** Two nodes, each with a store of its own. */
async function openNodes(): Promise<PostgresStore> {
  for (const id of ["a", "b"]) {
    nodes.push(await createNode({ store: await open(), programs: [steps], identity: { id }, ...TIMING }));
  }
  return open();
}

const count = async (text: string) =>
  (await server.query<{ n: number }>(`select count(*)::int as n from ${text}`))[0]!.n;
const settled = () => count("holdfast.runs where state = 'completed'");

async function expectSound(runs: readonly RunHandle<number[]>[], length: number): Promise<void> {
  for (const run of runs) expect(await run.result({ timeout: "30s" })).toHaveLength(length);
  expect(await count("holdfast.runs where state in ('failed', 'dead', 'quarantined')")).toBe(0);
  const twoTokens = `(select from holdfast.journal where token is not null group by run_id, epoch having count(distinct token) > 1) x`;
  const gaps = "(select from holdfast.journal group by run_id having count(*) <> max(seq)) x";
  const doubled = "(select from holdfast.journal where kind = 'step' group by run_id, name having count(*) > 1) x";
  expect(await Promise.all([twoTokens, gaps, doubled].map(count))).toEqual([0, 0, 0]);
}

test("a backend killed by the system resets every session, and all work continues where it was (F19)", {
  timeout: 60_000,
}, async () => {
  const store = await openNodes();
  const client = createClient({ store });
  const runs = await Promise.all(Array.from({ length: 20 }, () => client.start(steps, 25)));
  await expect.poll(() => count("holdfast.journal where kind = 'step'"), { timeout: 20_000 }).toBeGreaterThan(60);
  const [backend] = await server.query<{ pid: number }>(
    "select pid from pg_stat_activity where application_name = 'holdfast' limit 1",
  );
  process.kill(backend!.pid, "SIGKILL");
  await server.untilAnswers();
  await expectSound(runs, 25);
  expect(await count("holdfast.runs where epoch > 1"), "runs that changed hands").toBe(0);
});

test("a server restored from an old backup while nodes run: they continue from the backup, and no lost claim writes (F25)", {
  timeout: 90_000,
}, async () => {
  const store = await openNodes();
  const client = createClient({ store });
  const kept = await Promise.all(Array.from({ length: 6 }, () => client.start(steps, 40)));
  await expect.poll(() => count("holdfast.journal where kind = 'step'"), { timeout: 20_000 }).toBeGreaterThan(20);
  await server.crash();
  const backup = await yard.copy(server, "backup");
  leadTo(await yard.again(server));

  // After the backup: steps that are recorded, runs that are started, a node that registers.
  const lost = await Promise.all(Array.from({ length: 5 }, () => client.start(steps, 40)));
  nodes.push(await createNode({ store: await open(), programs: [steps], identity: { id: "late" }, ...TIMING }));
  await expect.poll(() => count("holdfast.journal where kind = 'step'"), { timeout: 20_000 }).toBeGreaterThan(80);
  const losses: string[] = [];
  for (const node of nodes) node.on("claim.lost", ({ runId }) => losses.push(runId));
  await server.crash();
  leadTo(await yard.restored(server, backup));

  await expectSound(kept, 40);
  const after = await client.start(steps, 3);
  await expectSound([after], 3);
  for (const run of lost) expect(await store.runs.get(run.id), "a start after the backup").toBeNull();
  expect(losses.length, "holders that noticed").toBeGreaterThan(0);
  const alive = async () => {
    const registered = await store.nodes.list({ env: "default" });
    return registered.filter((node) => node.alive).map(({ identity }) => identity);
  };
  await expect.poll(async () => (await alive()).sort(), { timeout: 10_000 }).toEqual(["a", "b", "late"]);
});

/** Fills the queue of notifications, and keeps a listener that reads nothing until it is released. */
async function fillNotifications(): Promise<{ release(): Promise<void> }> {
  const [deaf, loud] = [await server.client(), await server.client()];
  await deaf.query("listen noise");
  await deaf.query("begin; select 1");
  const payload = "x".repeat(7_900);
  const isFull = async () => {
    const text = "select pg_notify('noise', $1 || n) from generate_series(1, 20) n";
    return loud.query(text, [payload]).then(
      () => false,
      (error: pg.DatabaseError) => error.message.includes("NOTIFY queue"),
    );
  };
  for (let i = 0; i < 200 && !(await isFull()); i++);
  expect(await isFull(), "the queue of notifications is full").toBe(true);
  return {
    async release() {
      await deaf.end();
      await loud.end();
    },
  };
}

async function inTransaction<T>(pool: pg.Pool, work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
  const tx = await pool.connect();
  try {
    await tx.query("begin");
    const result = await work(tx);
    await tx.query("commit");
    return result;
  } finally {
    tx.release();
  }
}

test("while the queue of notifications is full, work is started, also in a caller's transaction, and done (F36)", {
  timeout: 60_000,
}, async () => {
  const store = await openNodes();
  const client = createClient({ store });
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  const full = await fillNotifications();
  try {
    const alone = await client.start(steps, 2);
    const many = await client.startMany(steps, [{ input: 1 }, { input: 2 }]);
    const inside = await inTransaction(pool, async (tx) => {
      await tx.query("create table own (n int)");
      await tx.query("insert into own values (1)");
      return client.start(steps, 4, { tx });
    });
    expect(many.map(({ outcome }) => outcome)).toEqual(["started", "started"]);
    expect(await alone.result({ timeout: "20s" })).toHaveLength(2);
    expect(await inside.result({ timeout: "20s" })).toHaveLength(4);
    expect(await count("own")).toBe(1);
    await expect.poll(() => count("holdfast.runs where state not in ('completed')")).toBe(0);
  } finally {
    await full.release();
    await pool.end();
  }
  const before = await settled();
  await (await client.start(steps, 1)).result({ timeout: "20s" });
  expect(await settled()).toBe(before + 1);
});

// The proxy injects the faults that it is set to.

import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testSchema } from "./database.js";
import { type FaultProxy, startProxy } from "./proxy.js";

const db = testSchema();
let proxy: FaultProxy;
let client: pg.Client;
let lost: Promise<unknown>;

beforeEach(async () => {
  const target = new URL(db.url);
  proxy = await startProxy({ host: target.hostname, port: Number(target.port) });
  client = new pg.Client({ connectionString: proxy.url(db.url) });
  lost = new Promise((resolve) => client.on("error", resolve));
  await client.connect();
  await db.pool.query(`CREATE TABLE IF NOT EXISTS ${db.schema}.seen (word text)`);
  await db.pool.query(`TRUNCATE ${db.schema}.seen`);
});
afterEach(async () => {
  await proxy.stop();
});

const insert = (word: string) => client.query(`INSERT INTO ${db.schema}.seen VALUES ($1)`, [word]);
const words = async () => {
  const found = await db.pool.query<{ word: string }>(`SELECT word FROM ${db.schema}.seen ORDER BY 1`);
  return found.rows.map((row) => row.word);
};

test("passes queries of any size and notices a client that leaves", async () => {
  const found = await client.query("SELECT repeat('x', 3000000) AS long");
  expect(found.rows[0].long).toHaveLength(3_000_000);
  expect(proxy.connectionCount).toBe(1);
  await client.end();
  await expect.poll(() => proxy.connectionCount).toBe(0);
});

test("a lost reply: the row is committed, the client gets only a reset", async () => {
  const done = proxy.loseNextReply((request) => request.includes("second"));
  await insert("first");
  await expect(insert("second")).rejects.toThrow();
  await done;
  await lost;
  expect(await words()).toEqual(["first", "second"]);
});

test("a lost COMMIT reply: the transaction is committed all the same", async () => {
  await client.query("BEGIN");
  await insert("within");
  const done = proxy.loseNextReply((request) => request.includes("COMMIT"));
  await expect(client.query("COMMIT")).rejects.toThrow();
  await done;
  expect(await words()).toEqual(["within"]);
});

test("a lost request: the server never receives it", async () => {
  const done = proxy.loseNextRequest();
  await expect(insert("never")).rejects.toThrow();
  await done;
  expect(await words()).toEqual([]);
});

test("a login does not count as a request", async () => {
  const done = proxy.loseNextReply();
  const other = new pg.Client({ connectionString: proxy.url(db.url) });
  other.on("error", () => {});
  await other.connect();
  await expect(insert("only")).rejects.toThrow();
  await done;
  expect((await other.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await other.end();
});

test("a black hole holds both directions until it is lifted", async () => {
  proxy.mode = "blackhole";
  let answered = false;
  const held = insert("late").then(() => {
    answered = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(answered).toBe(false);
  expect(await words()).toEqual([]);
  proxy.mode = "pass";
  await held;
  expect(await words()).toEqual(["late"]);
});

test("a delay applies to each direction, and resetAll ends every connection", async () => {
  proxy.mode = 40;
  const before = performance.now();
  await client.query("SELECT 1");
  expect(performance.now() - before).toBeGreaterThanOrEqual(79);
  proxy.resetAll();
  await lost;
  expect(proxy.connectionCount).toBe(0);
});

test("refusing the presence connection ends that one and no other", async () => {
  const present = async () => {
    const other = new pg.Client({ connectionString: proxy.url(db.url) });
    const gone = new Promise((resolve) => other.on("error", resolve));
    await other.connect();
    return { other, gone, lock: other.query("select pg_advisory_lock($1, $2)", [77, 1]) };
  };
  const before = await present();
  await before.lock;
  proxy.refuse = "presence";
  await before.gone;
  await expect((await present()).lock).rejects.toThrow();
  await insert("others work");
  proxy.refuse = "none";
  const after = await present();
  await after.lock;
  await after.other.end();
});

test("refusing all resets what is open and what is opened", async () => {
  proxy.refuse = "all";
  await lost;
  await expect(new pg.Client({ connectionString: proxy.url(db.url) }).connect()).rejects.toThrow();
  proxy.refuse = "none";
  const again = new pg.Client({ connectionString: proxy.url(db.url) });
  await again.connect();
  await again.end();
});

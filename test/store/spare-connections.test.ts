// Connections that were just used are at hand; none that is broken is handed out, and none is kept from a waiting caller.

import pg from "pg";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { SpareConnections } from "../../src/store/postgres/connection/spare-connections.js";
import { testSchema } from "../harness/database.js";

const { url, pool: other } = testSchema();
let pool: pg.Pool;
let spares: SpareConnections;

beforeEach(() => {
  pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on("error", () => {});
  spares = new SpareConnections(pool, systemWorld());
});
afterEach(async () => {
  spares.close();
  await pool.end();
});

test("the connection used last is reused first, and none is handed out twice", async () => {
  const [one, two] = [await pool.connect(), await pool.connect()];
  expect(spares.take()).toBeNull();
  spares.keep(one);
  spares.keep(two);
  expect(spares.take()).toBe(two);
  expect(spares.take()).toBe(one);
  expect(spares.take()).toBeNull();
  spares.keep(one);
  spares.keep(two);
});

test("a connection that is unused for a second is returned to the pool", async () => {
  spares.keep(await pool.connect());
  expect(pool.idleCount).toBe(0);
  await vi.waitFor(() => expect(pool.idleCount).toBe(1), 5000);
  expect(spares.take()).toBeNull();
});

test("a spare connection that breaks is not handed out, and the pool opens a new one", async () => {
  const client = await pool.connect();
  const { rows } = await client.query("select pg_backend_pid() as pid");
  spares.keep(client);
  await other.query("select pg_terminate_backend($1)", [rows[0].pid]);
  await vi.waitFor(() => expect(pool.totalCount).toBe(0), 5000);
  expect(spares.take()).toBeNull();
  const fresh = await pool.connect();
  expect((await fresh.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  spares.keep(fresh);
});

test("a caller that waits for the pool gets the next connection at once", async () => {
  const [one, two] = [await pool.connect(), await pool.connect()];
  const waiting = pool.connect();
  spares.keep(one);
  expect(pool.waitingCount).toBe(0);
  expect(await waiting).toBe(one);
  spares.keep(one);
  spares.keep(two);
});

test("after close every connection is returned to the pool, also one that is kept later", async () => {
  const [one, two] = [await pool.connect(), await pool.connect()];
  spares.keep(one);
  spares.close();
  spares.keep(two);
  expect(spares.take()).toBeNull();
  expect(pool.idleCount).toBe(2);
});

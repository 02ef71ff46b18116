// How the store uses connections: few of its own, a pool of the application's without ending it, never for ever.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { startProxy } from "../harness/proxy.js";

const { url, schema, pool } = testSchema();
const world = systemWorld();
const group = { env: "connections", stack: null, queue: "q", program: "p", version: null };
const newRun = () => ({
  id: world.id(),
  group,
  priority: 0,
  delayMs: 0,
  crashLimit: 5,
  input: { codec: "json", data: "{}" },
});

beforeAll(async () => {
  const store = openPostgres(url, { schema });
  await store.migrate();
  await store.close();
});

const holdfastConnections = async () => {
  const { rows } = await pool.query(
    "select count(*)::int as n from pg_stat_activity where application_name = 'holdfast' and datname = current_database()",
  );
  return rows[0].n as number;
};

describe("connections of its own", () => {
  test("are at most five, one of them for renewals, however much is asked at once", async () => {
    const before = await holdfastConnections();
    const store = openPostgres(url, { schema, connections: 4 });
    const claim = { runId: world.id(), epoch: 1, token: world.token() };
    await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        i % 3 === 0
          ? store.runs.renew([claim], 1000)
          : i % 3 === 1
            ? store.runs.insert([newRun()])
            : store.runs.get(claim.runId),
      ),
    );
    const used = (await holdfastConnections()) - before;
    await store.close();
    expect(used).toBeLessThanOrEqual(5);
    expect(used).toBeGreaterThanOrEqual(2);
  });

  test("more than five are refused with a sentence", () => {
    expect(() => openPostgres(url, { schema, connections: 5 })).toThrow("1 to 4");
  });

  test("carry limits on locks, statements and idle transactions", async () => {
    const store = openPostgres(url, { schema, queryTimeout: "4s" });
    await store.checkSchema();
    const { rows } = await pool.query(
      `select current_setting('server_version') as version, count(*)::int as n from pg_stat_activity
       where application_name = 'holdfast' and state = 'idle'`,
    );
    expect(rows[0].n).toBeGreaterThan(0);
    const blocker = await pool.connect();
    await blocker.query("begin");
    const run = newRun();
    await store.runs.insert([run]);
    await blocker.query(`select from ${schema}.runs where id = $1 for update`, [run.id]);
    const quick = openPostgres(url, { schema, queryTimeout: "400ms", retryFor: "1ms" });
    await expect(quick.runs.cancel(run.id, { by: "test" })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await blocker.query("rollback");
    blocker.release();
    await store.close();
    await quick.close();
  });
});

describe("a pool of the application's", () => {
  let shared: pg.Pool;
  beforeAll(() => {
    shared = new pg.Pool({ connectionString: url, max: 2 });
  });
  afterAll(() => shared.end());

  test("is used and left open", async () => {
    const store = openPostgres(shared, { schema });
    const run = newRun();
    await store.runs.insert([run]);
    expect((await store.runs.get(run.id))!.state).toBe("waiting");
    expect(await store.runs.renew([{ runId: run.id, epoch: 1, token: world.token() }], 1000)).toEqual([
      { outcome: "lost" },
    ]);
    const listeners = shared.listenerCount("error");
    await store.close();
    expect(shared.listenerCount("error")).toBe(listeners - 1);
    expect((await shared.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });

  test("serves stores on two schemas whose statements have the same names", async () => {
    const other = `${schema}_other`;
    const [a, b] = [openPostgres(shared, { schema }), openPostgres(shared, { schema: other })];
    await b.migrate();
    const [mine, theirs] = [newRun(), newRun()];
    for (let i = 0; i < 3; i++) await Promise.all([a.runs.insert([mine]), b.runs.insert([theirs])]);
    expect([await a.runs.get(theirs.id), await b.runs.get(mine.id)]).toEqual([null, null]);
    await a.close();
    await b.close();
    await pool.query(`drop schema ${other} cascade`);
  });

  test("a statement that gets no answer is given up there, too", async () => {
    const proxy = await startProxy({ host: "127.0.0.1", port: Number(new URL(url).port) });
    const slow = new pg.Pool({ connectionString: proxy.url(url), max: 1 });
    slow.on("error", () => {});
    const store = openPostgres(slow, { schema, queryTimeout: "300ms", retryFor: "1ms" });
    await store.checkSchema();
    proxy.mode = "blackhole";
    await expect(store.checkSchema()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    proxy.mode = "pass";
    await store.checkSchema();
    await store.close();
    await slow.end();
    await proxy.stop();
  });
});

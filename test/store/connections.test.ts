// How the store uses connections: few of its own, a pool of the application's without ending it, never without a time limit.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { Connections, type Line } from "../../src/store/postgres/connection/connections.js";
import { Database } from "../../src/store/postgres/connection/database.js";
import { dialect, query, statement } from "../../src/store/postgres/connection/dialect.js";
import { faultOf } from "../../src/store/postgres/connection/sqlstate.js";
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

describe("connections of its own", () => {
  test("are at most five, one of them for renewals, however many calls run at once", async () => {
    const proxy = await startProxy({ host: "127.0.0.1", port: Number(new URL(url).port) });
    const store = openPostgres(proxy.url(url), { schema, connections: 4 });
    const claim = { runId: world.id(), epoch: 1, token: world.token() };
    const ask = [
      () => store.runs.renew([claim], 1000),
      () => store.runs.insert([newRun()]),
      () => store.runs.get(claim.runId),
    ];
    await Promise.all(Array.from({ length: 60 }, (_, i) => ask[i % 3]!()));
    const used = proxy.connectionCount;
    await store.close();
    await proxy.stop();
    expect(used).toBeLessThanOrEqual(5);
    expect(used).toBeGreaterThanOrEqual(2);
  });

  test("are rejected with an explanatory error when there are more than five", () => {
    expect(() => openPostgres(url, { schema, connections: 5 })).toThrow("1 to 4");
  });

  test("plan our statements once and by indexes; a user's own transactions as the server likes", async () => {
    const options = { world, source: url, connections: 2, transactions: 1, queryTimeoutMs: 5000 };
    const connections = new Connections(options, () => {});
    const settings = "select current_setting('enable_seqscan') as whole, current_setting('plan_cache_mode') as plans";
    const on = (line: Line) => connections.use(line, async (client) => (await client.query(settings)).rows[0]);
    for (const line of ["main", "aside", "renewals"] as const) {
      expect(await on(line)).toEqual({ whole: "off", plans: "force_generic_plan" });
    }
    expect(await on("transactions")).toEqual({ whole: "on", plans: "auto" });
    await connections.close();
  });

  test("plan a count as the server likes, and the next statement as before, also after one that failed", async () => {
    const options = { world, source: url, connections: 1, transactions: 1, queryTimeoutMs: 5000 };
    const db = new Database({ ...options, dialect: dialect(schema), retryForMs: 0 });
    const settings = `select current_setting('enable_seqscan') as whole, current_setting('plan_cache_mode') as plans, $1::int / $2::int as of`;
    const prepared = statement("settings", "Reads settings.", () => settings);
    const asked = query<number[]>({
      name: "settings",
      purpose: "Reads settings.",
      text: (_, values) => ({ text: settings, values }),
      samples: {},
    });
    const ours = { whole: "off", plans: "force_generic_plan", of: 3 };
    expect(await db.run(prepared, [6, 2])).toEqual([ours]);
    expect(await db.runQuery(asked, [6, 2])).toEqual([{ ...ours, plans: "auto" }]);
    expect(await db.runWhole(asked, [6, 2])).toEqual([{ whole: "on", plans: "auto", of: 3 }]);
    await expect(db.runWhole(asked, [6, 0])).rejects.toMatchObject({ code: "DATA_REFUSED" });
    expect(await db.run(prepared, [6, 2])).toEqual([ours]);
    await db.close();
  });

  test("prepare a statement again when a migration has changed its columns", async () => {
    const options = { world, source: url, connections: 1, transactions: 1, queryTimeoutMs: 5000 };
    const db = new Database({ ...options, dialect: dialect(schema), retryForMs: 5000 });
    const all = statement("changing", "Reads all columns.", (d) => `select * from ${d.schema}.changing where a = $1`);
    await pool.query(`create table ${schema}.changing as select 1 as a`);
    expect(await db.run(all, [1])).toEqual([{ a: 1 }]);
    await pool.query(`alter table ${schema}.changing add column of_a_later_version int`);
    expect(await db.run(all, [1])).toEqual([{ a: 1, of_a_later_version: null }]);
    await pool.query(`alter table ${schema}.changing drop column of_a_later_version`);
    expect(await db.run(all, [1])).toEqual([{ a: 1 }]);
    await pool.query(`drop table ${schema}.changing`);
    await db.close();
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

describe("faults on the way", () => {
  test("calls that wait for a connection when the store is closed reject at once, and so do later ones", async () => {
    const store = openPostgres(url, { schema, connections: 1, queryTimeout: "60s" });
    await store.checkSchema();
    const calls = Array.from({ length: 20 }, () => store.runs.get(world.id()));
    const settled = Promise.allSettled(calls);
    await store.close();
    const refused = (await settled).filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    for (const one of refused) expect(one).toMatchObject({ reason: { code: "STORE_CLOSED" } });
    await expect(store.runs.get(world.id())).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });

  test("a store is closed once, however often close is called", async () => {
    const store = openPostgres(url, { schema });
    await store.checkSchema();
    await Promise.all([store.close(), store.close()]);
    await store.close();
  });

  test("a renewal without an answer leaves time for another within the lease", async () => {
    const proxy = await startProxy({ host: "127.0.0.1", port: Number(new URL(url).port) });
    const store = openPostgres(proxy.url(url), { schema });
    const [groupId] = await store.runs.groupIds([{ ...group, queue: "renewed" }]);
    const run = { ...newRun(), group: { ...group, queue: "renewed" } };
    await store.runs.insert([run]);
    const request = { owner: world.token(), token: world.token(), groupIds: [groupId!], limit: 1, leaseMs: 900 };
    const claims = await store.runs.claim(request);
    await store.runs.renew(claims, 900);
    proxy.mode = "blackhole";
    const askedAt = performance.now();
    await expect(store.runs.renew(claims, 900)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(performance.now() - askedAt).toBeLessThan(800);
    proxy.resetAll();
    proxy.mode = "pass";
    expect(await store.runs.renew(claims, 900)).toMatchObject([{ outcome: "held" }]);
    await store.close();
    await proxy.stop();
  });

  test("numbers of groups are asked for again on a new connection", async () => {
    const store = openPostgres(url, { schema, connections: 1 });
    const refund = { ...group, queue: "refund", program: "refund" };
    await store.runs.groupIds([refund]);
    // A failover that lost the last commits: the number now belongs to another group.
    await pool.query(`update ${schema}.claim_groups set queue = 'ship', program = 'ship' where queue = 'refund'`);
    await pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and query like $1",
      [`%${schema}%`],
    );
    const run = { ...newRun(), group: refund };
    expect(await store.runs.insert([run])).toMatchObject([{ outcome: "inserted" }]);
    expect((await store.runs.get(run.id))!.group.program).toBe("refund");
    await store.close();
  });

  test("an error of a pooler without a server is transient; a violation of the protocol is not", () => {
    expect(faultOf(Object.assign(new Error("server_login_retry"), { code: "08P01" }))).toBe("transient");
    expect(faultOf(Object.assign(new Error("bind message"), { code: "08P01", routine: "exec_bind_message" }))).toBe(
      "fatal",
    );
    expect(faultOf(Object.assign(new Error("no socket"), { code: "ENOENT", syscall: "connect" }))).toBe("transient");
    expect(faultOf(Object.assign(new Error("no certificate"), { code: "ENOENT", syscall: "open" }))).toBe("fatal");
  });

  test("a commit does not wait for a locked row of its parent", async () => {
    const store = openPostgres(url, { schema });
    const family = { ...group, queue: "family" };
    const [groupId] = await store.runs.groupIds([family]);
    const parent = { ...newRun(), group: family };
    const child = { ...newRun(), group: { ...family, queue: "family-child" } };
    await store.runs.insert([parent]);
    const request = { owner: world.token(), token: world.token(), groupIds: [groupId!], limit: 1, leaseMs: 60_000 };
    const [claim] = await store.runs.claim(request);
    await store.runs.commit([
      { claim: claim!, expectedSeq: 1, effects: [{ kind: "enqueue", name: "kid", run: child }] },
    ]);
    const [childGroup] = await store.runs.groupIds([child.group]);
    const [kid] = await store.runs.claim({ ...request, token: world.token(), groupIds: [childGroup!] });
    const person = await pool.connect();
    await person.query("begin");
    await person.query(`select from ${schema}.runs where id = $1 for update`, [parent.id]);
    const output = { codec: "json", data: "1" };
    const done = store.runs.commit([{ claim: kid!, expectedSeq: 1, effects: [{ kind: "complete", output }] }]);
    expect(await done).toMatchObject([{ outcome: "accepted" }]);
    await person.query("rollback");
    person.release();
    await expect.poll(async () => (await store.runs.get(parent.id))!.inboxSeq, { timeout: 5_000 }).toBe(1);
    await store.close();
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

  test("is not needed twice by an insert in a transaction of its own, not even when it is used up", async () => {
    const small = new pg.Pool({ connectionString: url, max: 3 });
    const store = openPostgres(small, { schema });
    const fresh = (i: number) => ({ ...newRun(), group: { ...group, queue: `burst-${world.token()}-${i}` } });
    const one = async (i: number) => {
      const client = await small.connect();
      await client.query("begin");
      const [answer] = await store.runs.insert([fresh(i)], { tx: client });
      await client.query("commit");
      client.release();
      return answer!.outcome;
    };
    expect(await Promise.all([1, 2, 3].map(one))).toEqual(["inserted", "inserted", "inserted"]);
    await store.close();
    await small.end();
  });

  test("fails a query after its timeout when no connection is free", async () => {
    const small = new pg.Pool({ connectionString: url, max: 1 });
    const held = await small.connect();
    const store = openPostgres(small, { schema, queryTimeout: "200ms", retryFor: "1ms" });
    await expect(store.runs.get(world.id())).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    held.release();
    expect(await store.runs.get(world.id())).toBeNull();
    await store.close();
    await small.end();
  });

  test("runs its onConnect for the store's own connections, too", async () => {
    const prepared: string[] = [];
    const onConnect = async (client: pg.ClientBase) => {
      await client.query("set application_name = 'prepared'");
      prepared.push("once");
    };
    const own = new pg.Pool({ connectionString: url, max: 1, onConnect: onConnect as unknown as () => void });
    const store = openPostgres(own, { schema });
    await store.runs.get(world.id());
    await store.runs.renew([{ runId: world.id(), epoch: 1, token: world.token() }], 1000);
    expect(prepared).toHaveLength(2);
    await store.close();
    await own.end();
  });

  test("may lose our prepared statements and keeps working", async () => {
    const own = new pg.Pool({ connectionString: url, max: 1 });
    const store = openPostgres(own, { schema });
    await store.runs.get(world.id());
    await own.query("deallocate all");
    expect(await store.runs.get(world.id())).toBeNull();
    await store.close();
    await own.end();
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

  test("fails a statement that gets no answer, too", async () => {
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

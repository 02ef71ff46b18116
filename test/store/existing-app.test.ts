// An application that was there before: its pool and type parsers, its migration tool, its roles, a schema for each tenant.

import makeKnex from "knex";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import type { Codec } from "../../src/kernel/codec/codec.js";
import { jsonCodec } from "../../src/kernel/codec/json-codec.js";
import { createNode } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { migrationSql } from "../../src/store/postgres/index.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";
import { grants } from "../harness/least-role.js";
import { QUICK } from "../workflow/node-suite.js";

const { url, schema, pool } = testSchema();
const made = { schemas: [] as string[], roles: [] as string[] };

function fresh(): string {
  made.schemas.push(`${schema}_${made.schemas.length}`);
  return made.schemas.at(-1)!;
}

/** A role that can do nothing yet, and the URL under which it logs in. */
async function newRole(): Promise<{ readonly name: string; readonly url: string }> {
  const name = `${schema}_r${made.roles.length}`;
  made.roles.push(name);
  await pool.query(`create role ${name} login password 'secret'`);
  const at = new URL(url);
  at.username = name;
  at.password = "secret";
  return { name, url: at.href };
}

afterAll(async () => {
  for (const one of made.schemas) await pool.query(`drop schema if exists ${one} cascade`);
  for (const one of made.roles) await pool.query(`drop owned by ${one}; drop role ${one}`);
});

const each = workflow("each", async (ctx, n: number) => ctx.step("double", () => n * 2));
const all = workflow("all", async (ctx, numbers: readonly number[]) => {
  const { outcome } = await ctx.approval("begin", { ask: "Begin?" });
  const doubled = await Promise.all(numbers.map((n) => ctx.child(each, n)));
  return `${outcome} ${doubled.join(" ")}`;
});

test("an application that replaces type parsers of the driver, for its pool or for all, changes nothing for the store", async () => {
  const readers = new Map<number, (text: string) => unknown>([
    [20, BigInt],
    [23, (text) => ({ int: text })],
    [701, (text) => ({ float: text })],
    [1700, Number.parseFloat],
    [16, (text) => (text === "t" ? "yes" : "no")],
    ...[114, 3802].map((json) => [json, (text: string) => ({ json: text })] as const),
    ...[1007, 1009, 2951].map((array) => [array, (text: string) => text] as const),
  ]);
  const types = { getTypeParser: (type: number) => readers.get(type) ?? ((text: string) => text) };
  const own = new pg.Pool({ connectionString: url, types: types as pg.CustomTypesConfig });
  const at = fresh();
  const before = [...readers.keys()].map((type) => [type, pg.types.getTypeParser(type)] as const);
  for (const [type, read] of readers) pg.types.setTypeParser(type, read as (text: string) => string);
  try {
    for (const source of [own, url]) {
      const store = openPostgres(source, { schema: at });
      await store.migrate();
      await using node = await createNode({ store, ...QUICK, programs: [all, each] });
      const run = await node.start(all, [1, 2]);
      await expect.poll(async () => (await node.approvals.list()).rows.length, { interval: 20 }).toBe(1);
      await run.decide("begin", { choice: "approved", by: "ann" });
      expect(await run.result({ timeout: "5s" })).toBe("approved 2 4");
      expect((await run.status()).group).toMatchObject({ program: "all" });
      expect((await node.runs.list({ program: "each" })).runs[0]).toMatchObject({ state: "completed", priority: 0 });
      await node.stop();
      await store.close();
    }
  } finally {
    for (const [type, read] of before) pg.types.setTypeParser(type, read);
    await own.end();
  }
});

test("the owner of a schema migrates it without the right to create one, and another role works with the documented grants", async () => {
  const [owner, app, stranger] = [await newRole(), await newRole(), await newRole()];
  const at = fresh();
  await pool.query(`create schema ${at} authorization ${owner.name}`);
  const migrating = openPostgres(owner.url, { schema: at });
  await expect(openPostgres(owner.url, { schema: `${at}_x` }).migrate()).rejects.toMatchObject({
    code: "STORE_REFUSED",
  });
  expect((await migrating.migrate()).applied.length).toBeGreaterThan(0);
  await migrating.close();

  const owning = new pg.Client({ connectionString: owner.url });
  await owning.connect();
  for (const grant of grants(at, app.name)) await owning.query(grant);
  await owning.end();
  const store = openPostgres(app.url, { schema: at });
  await store.checkSchema();
  await using node = await createNode({ store, ...QUICK, programs: [each] });
  expect(await (await node.start(each, 4)).result({ timeout: "5s" })).toBe(8);
  await node.stop();
  await expect(store.migrate()).resolves.toMatchObject({ applied: [] });
  await store.close();

  const other = openPostgres(stranger.url, { schema: at });
  await expect(other.checkSchema()).rejects.toMatchObject({ code: "STORE_REFUSED" });
  await other.close();
});

test("a migration tool applies the SQL in its own transaction, whole or not at all", async () => {
  const at = fresh();
  const knex = makeKnex({ client: "pg", connection: url, pool: { min: 0, max: 2 } });
  await pool.query(`create schema ${at}_tool`);
  made.schemas.push(`${at}_tool`);
  let fails = true;
  const migration = {
    up: async (trx: typeof knex) => {
      await trx.raw(migrationSql(at, { transaction: false }));
      if (fails) throw new RangeError("the application's own part");
    },
    down: async () => {},
  };
  const migrationSource = {
    getMigrations: async () => ["holdfast-1"],
    getMigrationName: (name: string) => name,
    getMigration: async () => migration,
  };
  const migrate = () => knex.migrate.latest({ migrationSource, schemaName: `${at}_tool` });
  await expect(migrate()).rejects.toThrow("the application's own part");
  expect((await pool.query("select to_regnamespace($1) as there", [at])).rows[0].there).toBeNull();
  fails = false;
  await migrate();
  await knex.destroy();
  const store = openPostgres(url, { schema: at });
  await store.checkSchema();
  expect((await store.migrate()).applied).toEqual([]);
  await store.close();
});

test("tenants with a schema each share a pool and a process, and see nothing of each other", async () => {
  const own = new pg.Pool({ connectionString: url, max: 4 });
  own.on("error", () => {});
  const tenants = await Promise.all(
    [fresh(), fresh()].map(async (at) => {
      const store = openPostgres(own, { schema: at });
      await store.migrate();
      return { at, store, node: await createNode({ store, ...QUICK, programs: [each] }) };
    }),
  );
  const runs = await Promise.all(tenants.map(({ node }, i) => node.start(each, i + 1, { key: "same" })));
  expect(await Promise.all(runs.map((run) => run.result({ timeout: "5s" })))).toEqual([2, 4]);
  for (const { node } of tenants) expect((await node.runs.list()).runs).toHaveLength(1);
  expect(await tenants[0]!.store.runs.get(runs[1]!.id)).toBeNull();

  const role = await newRole();
  const [mine, theirs] = tenants.map(({ at }) => at) as [string, string];
  for (const grant of grants(mine, role.name)) await pool.query(grant);
  const limited = {
    mine: openPostgres(role.url, { schema: mine }),
    theirs: openPostgres(role.url, { schema: theirs }),
  };
  expect(await limited.mine.runs.get(runs[0]!.id)).toMatchObject({ state: "completed" });
  await expect(limited.theirs.runs.get(runs[1]!.id)).rejects.toMatchObject({ code: "STORE_REFUSED" });
  await Promise.all([limited.mine.close(), limited.theirs.close()]);
  await Promise.all(tenants.map(({ node }) => node.stop()));
  await Promise.all(tenants.map(({ store }) => store.close()));
  await own.end();
});

test("with a codec of the application's, no table has a value of its runs in plain, except search attributes", async () => {
  const json = jsonCodec();
  const codec: Codec = {
    name: "b64",
    encode: (value, path) => Buffer.from(json.encode(value, path)).toString("base64"),
    decode: (text) => json.decode(Buffer.from(text, "base64").toString()),
  };
  const SECRET = "4242-4242";
  const moved = event<{ readonly card: string; readonly subject: string }>()("moved");
  const paid = signal<string>("paid");
  const child = workflow("child", async (_ctx, card: string) => card);
  const byEvent = workflow("by-event", { on: [on(moved)] }, async (_ctx, { card }) => card);
  const gathered = workflow(
    "gathered",
    { on: [on(moved, { subject: "subject", debounce: "1h" })] },
    async (_ctx, { card }) => card,
  );
  const pay = workflow("pay", async (ctx, card: string) => {
    await ctx.step("charge", () => `charged ${card}`);
    await ctx.progress(`at ${card}`);
    await ctx.set("card", card);
    await ctx.child(child, card);
    await ctx.waitFor(paid);
    await ctx.step("refuse", { retry: 1 }, () => Promise.reject(new RangeError(`declined ${card}`))).catch(() => {});
    throw new RangeError(`failed for ${card}`);
  });
  const at = fresh();
  const store = openPostgres(url, { schema: at });
  await store.migrate();
  const node = await createNode({ store, ...QUICK, programs: [pay, child, byEvent, gathered], codecs: [codec] });
  const run = await node.start(pay, SECRET, { key: "pay", attributes: { plain: "1111-1111" } });
  await run.signal(paid, SECRET);
  await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_FAILED" });
  const { runs } = await node.emit(moved, { card: SECRET, subject: "one" });
  const alone = runs.find(({ program }) => program === "by-event")!.runId!;
  expect(await node.run(alone).result({ timeout: "5s" })).toBe(SECRET);
  await node.stop();
  const { rows: tables } = await pool.query("select tablename as name from pg_tables where schemaname = $1", [at]);
  const found = async (text: string) => {
    const counts = await Promise.all(
      tables.map(async ({ name }) => {
        const { rows } = await pool.query(`select count(*)::int as n from ${at}.${name} t where t::text like $1`, [
          `%${text}%`,
        ]);
        return rows[0].n > 0 ? [name as string] : [];
      }),
    );
    return counts.flat();
  };
  expect(await found(SECRET)).toEqual([]);
  expect((await found("1111-1111")).length).toBeGreaterThan(0);
  await store.close();
});

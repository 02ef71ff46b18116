// Migrations: one migrator at a time, resumable after a kill, the same by hand, and refused where they do not fit.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { migrationSql } from "../../src/store/postgres/index.js";
import { MIGRATIONS } from "../../src/store/postgres/migrations/index.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { newRun } from "./scene.js";

const db = testSchema();
const schemas: string[] = [];
const NEWEST = MIGRATIONS.at(-1)!.version;

function fresh(): string {
  const schema = `${db.schema}_${schemas.length}`;
  schemas.push(schema);
  return schema;
}

afterAll(async () => {
  for (const schema of schemas) await db.pool.query(`drop schema if exists ${schema} cascade`);
});

/** Tables, columns, indexes, constraints, triggers and functions as text, with the schema's name left out. */
async function shapeOf(schema: string): Promise<string[]> {
  const { rows } = await db.pool.query<{ line: string }>(
    `with n as (select oid from pg_namespace where nspname = $1)
     select 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull
       || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || ' ' || a.attidentity::text || ' ' || coalesce(c.reloptions::text, '') as line
     from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
     where c.relnamespace in (select oid from n) and c.relkind in ('r', 'S') and a.attnum > 0 and not a.attisdropped
     union all select 'index ' || indexdef from pg_indexes where schemaname = $1
     union all select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
       where connamespace in (select oid from n)
     union all select 'trigger ' || pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
       where c.relnamespace in (select oid from n) and not t.tgisinternal
     union all select 'function ' || pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace in (select oid from n)
     order by 1`,
    [schema],
  );
  return rows.map((row) => row.line.replaceAll(schema, "S"));
}

test("eight processes that migrate at once: one applies, all find the same schema", async () => {
  const schema = fresh();
  const stores = Array.from({ length: 8 }, () => openPostgres(db.url, { schema }));
  const reports = await Promise.all(stores.map((store) => store.migrate()));
  const applied = reports.flatMap((report) => report.applied);
  expect(applied.map((one) => one.version)).toEqual(MIGRATIONS.map((one) => one.version));
  expect(reports.map((report) => report.version)).toEqual(reports.map(() => NEWEST));
  await Promise.all(stores.map((store) => store.checkSchema()));
  expect((await stores[0]!.migrate()).applied).toEqual([]);
  await Promise.all(stores.map((store) => store.close()));
});

test("the printed SQL, applied by hand, makes the same schema, and migrate finds nothing left to do", async () => {
  const [byHand, byUs] = [fresh(), fresh()];
  await db.pool.query(migrationSql(byHand));
  const store = openPostgres(db.url, { schema: byUs });
  await store.migrate();
  expect(await shapeOf(byHand)).toEqual(await shapeOf(byUs));
  expect((await shapeOf(byUs)).length).toBeGreaterThan(80);
  const hand = openPostgres(db.url, { schema: byHand });
  expect((await hand.migrate()).applied).toEqual([]);
  await hand.runs.insert([newRun()]);
  await Promise.all([store.close(), hand.close()]);
});

test("a migrator killed in the middle leaves nothing half done, and the next one continues", async () => {
  const schema = fresh();
  const watcher = new pg.Client({ connectionString: db.url });
  await watcher.connect();
  // Holds the child back inside its transaction, after it has created the schema: the table of migrations is ours first.
  await db.pool.query(`create schema ${schema}; create table ${schema}.meta (key text primary key, value text not null);
    create table ${schema}.migrations (version int primary key, name text not null, applied_at timestamptz not null)`);
  await watcher.query("begin");
  await watcher.query(`lock table ${schema}.meta in access exclusive mode`);
  const child = migrating(schema);
  await until(async () => (await blockedMigrators(schema)) === 1);
  child.kill("SIGKILL");
  await once(child, "exit");
  await until(async () => (await blockedMigrators(schema)) === 0);
  await watcher.query("commit");
  await watcher.end();
  expect((await shapeOf(schema)).filter((line) => line.includes("runs"))).toEqual([]);

  const store = openPostgres(db.url, { schema });
  await expect(store.checkSchema()).rejects.toMatchObject({ code: "SCHEMA_MISSING" });
  expect((await store.migrate()).applied).toHaveLength(MIGRATIONS.length);
  await store.runs.insert([newRun()]);
  await store.close();
});

test("a migration does not queue behind a lock for long: others pass, and it continues when the lock is gone", async () => {
  const schema = fresh();
  await db.pool.query(`create schema ${schema}; create table ${schema}.meta (key text primary key, value text not null);
    create table ${schema}.migrations (version int primary key, name text not null, applied_at timestamptz not null)`);
  const holder = new pg.Client({ connectionString: db.url });
  await holder.connect();
  await holder.query("begin");
  await holder.query(`lock table ${schema}.meta in share mode`);
  const store = openPostgres(db.url, { schema });
  const migrated = store.migrate();
  await until(async () => (await blockedMigrators(schema)) === 1);
  await until(async () => (await blockedMigrators(schema)) === 0);
  await holder.query("commit");
  await holder.end();
  expect((await migrated).version).toBe(NEWEST);
  await store.close();
});

test("names that could break out of the SQL are refused before anything is sent", () => {
  const bad = [
    "",
    " ",
    "a b",
    'a"b',
    "a;drop table x",
    "A",
    "1a",
    "pg_x",
    "information_schema",
    "é",
    "a".repeat(50),
    "a.b",
    "a\0b",
  ];
  for (const schema of bad) {
    expect(() => openPostgres(db.url, { schema })).toThrow(expect.objectContaining({ path: "schema" }));
    expect(() => migrationSql(schema)).toThrow(expect.objectContaining({ path: "schema" }));
  }
});

test("a schema that needs a newer package is refused", async () => {
  const schema = fresh();
  const store = openPostgres(db.url, { schema });
  await store.migrate();
  await db.pool.query(`update ${schema}.meta set value = '999.0.0' where key = 'oldest_package'`);
  await expect(store.checkSchema()).rejects.toMatchObject({ code: "SCHEMA_TOO_NEW", message: /999\.0\.0/ });
  await store.close();
});

test("without a schema the error of every call names the command to run", async () => {
  const store = openPostgres(db.url, { schema: fresh() });
  const calls = [
    () => store.checkSchema(),
    () => store.runs.get("00000000-0000-4000-8000-000000000000"),
    () => store.runs.insert([newRun()]),
    () => store.runs.list({ env: "test" }, { limit: 1 }),
    () => store.runs.reclaimExpired({ env: "test", limit: 1 }),
    () => store.leases.get("test", "k"),
  ];
  for (const call of calls) {
    await expect(call()).rejects.toMatchObject({ code: "SCHEMA_MISSING", message: expect.stringContaining("migrate") });
  }
  await store.close();
});

function migrating(schema: string): ChildProcess {
  const script = compiled(join(import.meta.dirname, "migrate.child.ts"));
  return spawn(process.execPath, [script, db.url, schema], { stdio: "ignore" });
}

/** Backends of a migrator of this schema that wait for a lock. */
async function blockedMigrators(schema: string): Promise<number> {
  const { rows } = await db.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_locks l join pg_stat_activity a using (pid)
     where not l.granted and a.application_name = 'holdfast' and l.relation::regclass::text like $1`,
    [`${schema}.%`],
  );
  return rows[0]!.n;
}

async function until(fact: () => Promise<boolean>): Promise<void> {
  await expect.poll(fact, { timeout: 15_000, interval: 20 }).toBe(true);
}

// The rows of a schema as a file: read while its nodes work, and put into an empty schema of the same version, moved to the present.

import type pg from "pg";
import { dialect } from "../../../src/store/postgres/connection/dialect.js";
import { MIGRATIONS } from "../../../src/store/postgres/migrations/index.js";

export interface Filled {
  readonly version: number;
  /** Of the database, in ms. */
  readonly recordedAt: number;
  readonly tables: Readonly<Record<string, readonly Record<string, unknown>[]>>;
}

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
}

/** Book-keeping of migrations, which the empty schema has. */
const NOT_ROWS = ["migrations", "meta"];

async function columnsOf(client: pg.ClientBase, schema: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select c.table_name as "table", c.column_name as name, c.data_type as type from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = $1 and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER' order by 1, c.ordinal_position`,
    [schema],
  );
  return rows.filter(({ table }) => !NOT_ROWS.includes(table));
}

/** All tables at one moment. */
export async function readFilled(client: pg.ClientBase, schema: string): Promise<Filled> {
  await client.query("begin isolation level repeatable read");
  const names = [...new Set((await columnsOf(client, schema)).map(({ table }) => table))];
  const tables: Record<string, Record<string, unknown>[]> = {};
  for (const name of names) {
    const { rows } = await client.query(`select to_jsonb(t) as row from ${schema}.${name} t`);
    if (rows.length > 0) tables[name] = rows.map(({ row }) => row);
  }
  const { rows } = await client.query(`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
    (select max(version) from ${schema}.migrations) as version`);
  await client.query("commit");
  return { version: rows[0].version, recordedAt: rows[0].now, tables };
}

/** Makes the schema in its version, and the rows in it; what was an hour ahead then is an hour ahead now. */
export async function writeFilled(client: pg.ClientBase, schema: string, filled: Filled): Promise<void> {
  const place = dialect(schema);
  await client.query(`create schema if not exists ${schema};
    create table ${schema}.meta (key text primary key, value text not null);
    create table ${schema}.migrations (version int primary key, name text not null, applied_at timestamptz not null)`);
  for (const { version, name, sql } of MIGRATIONS.filter((one) => one.version <= filled.version)) {
    await client.query(sql(place));
    await client.query(`insert into ${schema}.migrations values ($1, $2, clock_timestamp())`, [version, name]);
  }
  await client.query("begin; set local session_replication_role = replica");
  const columns = await columnsOf(client, schema);
  const movedBy = (Date.now() - filled.recordedAt) / 1_000;
  for (const [table, rows] of Object.entries(filled.tables)) {
    const known = columns.filter((one) => one.table === table && one.name in rows[0]!);
    const names = known.map(({ name }) => `"${name}"`).join(", ");
    const moved = known.map(({ name, type }) =>
      type === "timestamp with time zone" ? `"${name}" + make_interval(secs => ${movedBy})` : `"${name}"`,
    );
    await client.query(
      `insert into ${schema}.${table} (${names}) overriding system value
       select ${moved.join(", ")} from jsonb_populate_recordset(null::${schema}.${table}, $1)`,
      [JSON.stringify(rows)],
    );
  }
  await client.query("commit");
  await moveSequences(client, schema);
}

async function moveSequences(client: pg.ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ sequence: string; table: string; name: string }>(
    `select s.seqrelid::regclass::text as sequence, d.refobjid::regclass::text as "table", a.attname as name
     from pg_sequence s join pg_depend d on d.objid = s.seqrelid and d.deptype in ('a', 'i')
     join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
     where d.refobjid::regclass::text like $1`,
    [`${schema}.%`],
  );
  for (const { sequence, table, name } of rows) {
    await client.query(`select setval($1, greatest((select max("${name}") from ${table}), 1))`, [sequence]);
  }
}

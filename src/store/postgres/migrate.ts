// Brings the schema up to date: one migrator at a time, each migration in its own transaction, so that a killed
// migrator leaves either the old or the new version and the next one continues from there.

import type pg from "pg";
import { InvalidInput } from "../../kernel/error.js";
import { compareVersions, PACKAGE_VERSION } from "../../kernel/package-version.js";
import { OUR_TYPES } from "./connection/column-types.js";
import type { Database } from "./connection/database.js";
import { type Dialect, statement } from "./connection/dialect.js";
import { SchemaMissing, SchemaTooNew } from "./connection/errors.js";
import { MIGRATIONS, OLDEST_PACKAGE } from "./migrations/index.js";

/** Held to the end of the transaction: it works through a pooler, and a killed migrator releases it. */
const ONE_AT_A_TIME = "select pg_advisory_xact_lock(hashtextextended('holdfast.migrate.' || $1, 0))";

/** CREATE SCHEMA IF NOT EXISTS asks for the right to create one also where it exists: the owner of a schema need not have it. */
const bookkeeping = ({ schema: s }: Dialect) => `
do $$ begin if to_regnamespace('${s}') is null then create schema ${s}; end if; end $$;
create table if not exists ${s}.meta (key text primary key, value text not null);
create table if not exists ${s}.migrations (version int primary key, name text not null, applied_at timestamptz not null);`;

const mark = ({ schema: s }: Dialect, version: number, name: string) => `
insert into ${s}.migrations values (${version}, '${name}', clock_timestamp());
insert into ${s}.meta values ('oldest_package', '${OLDEST_PACKAGE}') on conflict (key) do update set value = excluded.value;`;

/** What `migrate` did. */
export interface MigrateReport {
  /** The migrations that were applied, in order. */
  readonly applied: readonly { readonly version: number; readonly name: string }[];
  /** The version of the schema afterwards. */
  readonly version: number;
}

/** Options of `migrate`. */
export interface MigrateOptions {
  /** Called after each migration with how many were applied, and how many the schema lacked. */
  readonly onApplied?: (done: number, of: number) => void;
}

/** Options of `migrationSql`. */
export interface MigrationSqlOptions {
  /** Only the migrations after this version. @default 0, all of them */
  readonly from?: number;
  /** Whether the text has its own `begin` and `commit`. A migration tool brings its own. @default true */
  readonly transaction?: boolean;
}

/** The SQL of the migrations, to apply by hand, by a migration tool, or to review first. */
export function printMigrations(dialect: Dialect, { from = 0, transaction = true }: MigrationSqlOptions = {}): string {
  const newest = MIGRATIONS.at(-1)!.version;
  if (!Number.isInteger(from) || from < 0 || from > newest)
    throw new InvalidInput("from", `must be a version from 0 to ${newest}`);
  const wanted = MIGRATIONS.filter(({ version }) => version > from);
  const parts = wanted.map((m) => `-- ${m.version} ${m.name}\n${m.sql(dialect)}${mark(dialect, m.version, m.name)}`);
  if (parts.length === 0) return `-- Nothing to do: version ${newest} is the newest.\n`;
  const text = `${bookkeeping(dialect)}\n${parts.join("\n")}\n`;
  return transaction ? `begin;\n${text}commit;\n` : text;
}

/** Waits for locks only briefly and tries again: a migration that queues for a lock blocks every statement behind it. */
export async function migrate(
  db: Database,
  options: MigrateOptions & { readonly retryForMs?: number } = {},
): Promise<MigrateReport> {
  const applied: { version: number; name: string }[] = [];
  for (;;) {
    const next = await db.repeat("migrate", options.retryForMs ?? 60_000, () =>
      db.transaction((client) => applyNext(client, db.dialect)),
    );
    if (!next) return { applied, version: MIGRATIONS.at(-1)!.version };
    applied.push(next);
    const left = MIGRATIONS.filter(({ version }) => version > next.version).length;
    options.onApplied?.(applied.length, applied.length + left);
  }
}

async function applyNext(client: pg.ClientBase, dialect: Dialect) {
  await client.query("set local lock_timeout = '3s'");
  await client.query("set local statement_timeout = '10min'");
  await client.query(ONE_AT_A_TIME, [dialect.schema]);
  // A role that may not create tables finds that nothing is left to do.
  const exists = `select to_regclass('${dialect.schema}.migrations') is not null as there`;
  const [found] = (await client.query({ text: exists, types: OUR_TYPES })).rows;
  if (!found.there) await client.query(bookkeeping(dialect));
  const newest = `select coalesce(max(version), 0) as version from ${dialect.schema}.migrations`;
  const { rows } = await client.query({ text: newest, types: OUR_TYPES });
  const next = MIGRATIONS.find((migration) => migration.version > rows[0].version);
  if (!next) return null;
  await client.query(next.sql(dialect) + mark(dialect, next.version, next.name));
  return { version: next.version, name: next.name };
}

const readSchemaState = statement(
  "read_schema_state",
  "Reads which migrations a schema has.",
  ({ schema: s }) => `
select (select coalesce(max(version), 0) from ${s}.migrations) as version,
  (select value from ${s}.meta where key = 'oldest_package') as oldest`,
);

/** Refuses to work on a schema that is older than this package needs, or that needs a newer package. */
export async function checkSchema(db: Database): Promise<void> {
  const [state] = await db.run<{ version: number; oldest: string | null }>(readSchemaState, []);
  const { version, oldest } = state!;
  // Null while the first migration is not there: only the tables of the book-keeping exist.
  if (oldest !== null && compareVersions(PACKAGE_VERSION, oldest) < 0) {
    throw new SchemaTooNew(db.dialect.schema, oldest, PACKAGE_VERSION);
  }
  if (version < MIGRATIONS.at(-1)!.version) {
    throw new SchemaMissing(db.dialect.schema, `version ${version}, needed ${MIGRATIONS.at(-1)!.version}`);
  }
}

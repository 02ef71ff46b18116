// `holdfast/postgres`: the store on PostgreSQL 14 or newer.

import type pg from "pg";
import { dialect } from "./connection/dialect.js";
import { type MigrationSqlOptions, printMigrations } from "./migrate.js";
import { openPostgres, type PostgresOptions, type PostgresStore } from "./open.js";

export {
  DataRefused,
  SchemaMissing,
  SchemaTooNew,
  StoreClosed,
  StoreFailed,
  StoreRefused,
  StoreUnavailable,
} from "./connection/errors.js";
export type { MigrateOptions, MigrateReport, MigrationSqlOptions } from "./migrate.js";
export type { PostgresOptions, PostgresStore } from "./open.js";

/**
 * A store on the database behind a URL, or on a `pg.Pool` of your own.
 *
 * @example
 * ```ts
 * const store = postgres(server.url);
 * await store.migrate();
 * ```
 */
export function postgres(source: string | pg.Pool, options: PostgresOptions = {}): PostgresStore {
  return openPostgres(source, options);
}

/** The SQL of the migrations, to review, or to apply by hand or with a migration tool. */
export function migrationSql(schema = "holdfast", options: MigrationSqlOptions = {}): string {
  return printMigrations(dialect(schema), options);
}

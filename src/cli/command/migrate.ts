// `holdfast migrate`: brings the schema up to date, or prints the SQL that would.

import { migrationSql } from "../../store/postgres/index.js";
import type { Call, Command, Report } from "../command.js";
import { connectToMigrate } from "../connect.js";

export const migrate: Command = {
  name: "migrate",
  takes: [],
  summary: "create the tables, or bring them up to date",
  details: "Safe to run repeatedly and concurrently. --print needs no database.",
  options: { print: { type: "boolean", description: "print the SQL of all migrations instead of applying it" } },
  run: (call) => (call.values["print"] ? print(call) : apply(call)),
};

async function print({ database: { schema } }: Call): Promise<Report> {
  const sql = migrationSql(schema);
  return { text: sql, json: { schema, sql } };
}

async function apply({ database }: Call): Promise<Report> {
  const { schema } = database;
  const store = await connectToMigrate(database);
  try {
    const { applied, version } = await store.migrate();
    const names = applied.map((migration) => `  ${migration.version} ${migration.name}\n`).join("");
    const text =
      applied.length === 0
        ? `Schema ${schema} is up to date (version ${version}).\n`
        : `Applied to schema ${schema}:\n${names}The schema is now at version ${version}.\n`;
    return { text, json: { schema, version, applied } };
  } finally {
    await store.close();
  }
}

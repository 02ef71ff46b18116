// `holdfast migrate`: brings the schema up to date, or prints the SQL that would.

import { migrationSql } from "../../store/postgres/index.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { connectToMigrate } from "../connect.js";
import { CommandMisused } from "../error.js";
import { wholeNumber } from "../options.js";

const OPTIONS = {
  print: { type: "boolean", description: "print the SQL of the migrations instead of applying it" },
  sql: { type: "boolean", description: "the same without begin and commit, for a migration tool" },
  from: {
    type: "string",
    value: "VERSION",
    description: "with --print or --sql: only what comes after this version",
    parse: (text: string) => wholeNumber("from", text, { from: 0, to: 9_999 }),
  },
} as const satisfies Options;

export const migrate = defineCommand({
  name: "migrate",
  takes: [],
  summary: "create the tables, or bring them up to date",
  details: "Safe to run repeatedly and concurrently. --print and --sql need no database.",
  options: OPTIONS,
  run: (call) => (call.values.print || call.values.sql ? print(call) : apply(call)),
});

async function print({ values, database: { schema } }: Call<typeof OPTIONS>): Promise<Report> {
  const sql = migrationSql(schema, { from: values.from ?? 0, transaction: !values.sql });
  return { text: sql, json: { schema, sql } };
}

async function apply({ database, values, progress }: Call<typeof OPTIONS>): Promise<Report> {
  if (values.from !== undefined) throw new CommandMisused("--from needs --print or --sql");
  const { schema } = database;
  const store = await connectToMigrate(database);
  try {
    const shown = progress("migrations applied");
    const { applied, version } = await store.migrate({ onApplied: shown.at }).finally(shown.end);
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

// Writes every statement of the PostgreSQL store as it runs, or checks that the committed snapshot is that. No database is needed.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { allStatements, dialect, type RegisteredStatement } from "../src/store/postgres/connection/dialect.js";
import "../src/store/postgres/index.js";
import { formatSql } from "./format-sql.js";

const FOLDER = join(import.meta.dirname, "..", "src", "store", "postgres");
const FILE = join(FOLDER, "statements.snapshot.sql");
const check = process.argv.includes("--check");

const HEAD = `-- Every statement of the PostgreSQL store, exactly as it runs on the schema "holdfast"; only the layout is made for reading.
-- Written by \`npm run snapshot\`, compared by \`npm run check\`. After each name: the file that defines it.
-- A name that occurs several times is a query whose text depends on what is asked for: one sample for each form.
-- Not listed: migrations (schema.snapshot.txt), and what sets up and ends sessions and transactions (connection/).
`;

const sources = readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => ({ name, text: readFileSync(join(FOLDER, name), "utf8") }));

function fileOf(name: string): string {
  const defines = new RegExp(`(?:(?:statement|variant)\\(\\s*|name: )"${name}",`);
  const found = sources.filter(({ text }) => defines.test(text));
  if (found.length !== 1) throw new Error(`${name} is defined in ${found.length} files of ${FOLDER}, not in one`);
  return found[0]!.name;
}

function entryOf({ name, purpose, sample, text }: RegisteredStatement): string {
  const title = sample === undefined ? name : `${name}, ${sample}`;
  return `-- ${title} · ${fileOf(name)}\n-- ${purpose}\n${formatSql(text(dialect("holdfast")))};\n`;
}

const statements = allStatements();
const titles = statements.map(({ name, sample }) => `${name}, ${sample}`);
const twice = titles.filter((title, i) => titles.indexOf(title) !== i);
if (twice.length > 0) throw new Error(`Statements share a name: ${twice.join("; ")}`);

const now = [HEAD, ...statements.map(entryOf)].join("\n");
const same = (() => {
  try {
    return readFileSync(FILE, "utf8") === now;
  } catch {
    return false;
  }
})();
if (!check) writeFileSync(FILE, now);
if (check && !same)
  console.error(`The statements differ from ${FILE}.\nLook at them with: npm run snapshot && git diff`);
console.log(`statements snapshot: ${same ? "same" : "changed"}`);
process.exitCode = same || !check ? 0 : 1;

// Writes the schema as the database sees it after all migrations, or checks that the committed snapshot is that.
// `npm run check` fails when a migration changed the schema and the snapshot was not updated.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { startEmbedded } from "../src/embedded/index.js";
import { postgres } from "../src/store/postgres/index.js";
import { describeSchema } from "./describe-schema.js";

const FILE = join(import.meta.dirname, "..", "src", "store", "postgres", "schema.snapshot.txt");
const check = process.argv.includes("--check");
const json = process.argv.includes("--json");

const server = await startEmbedded({ temporary: true, onNotice: () => {} });
try {
  const store = postgres(server.url);
  await store.migrate();
  await store.close();
  const client = new pg.Client(server.url);
  await client.connect();
  const now = await describeSchema(client, "holdfast");
  await client.end();
  const before = await readFile(FILE, "utf8").catch(() => "");
  const same = now === before;
  if (!check) await writeFile(FILE, now);
  const ok = same || !check;
  if (!ok) console.error(`The schema differs from ${FILE}.\nLook at it with: npm run snapshot && git diff`);
  console.log(
    json
      ? JSON.stringify({ ok, same, lines: now.split("\n").length })
      : `schema snapshot: ${same ? "same" : "changed"}`,
  );
  process.exitCode = ok ? 0 : 1;
} finally {
  await server.stop();
}

// `npm run record-schema`: fills a database of the newest schema with work in every state and writes it to test/faults/upgrade/recorded,
// before the next migration comes. The upgrade test migrates every such file and finishes its work.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startEmbedded } from "../src/embedded/index.js";
import { fill } from "../test/faults/upgrade/fill.js";

// Stored errors would name paths of this machine.
Error.stackTraceLimit = 0;
const server = await startEmbedded({ temporary: true, onNotice: () => {} });
try {
  const filled = await fill(server.url, "holdfast");
  const name = `${String(filled.version).padStart(4, "0")}.json`;
  const rows = Object.entries(filled.tables).map(([table, all]) => {
    return `    ${JSON.stringify(table)}: [\n${all.map((row) => `      ${JSON.stringify(row)}`).join(",\n")}\n    ]`;
  });
  const head = `  "version": ${filled.version},\n  "recordedAt": ${filled.recordedAt},\n  "tables": {\n`;
  const path = join(import.meta.dirname, "../test/faults/upgrade/recorded", name);
  writeFileSync(path, `{\n${head}${rows.join(",\n")}\n  }\n}\n`);
  const counts: Record<string, number> = {};
  for (const { state } of filled.tables["runs"]!) counts[String(state)] = (counts[String(state)] ?? 0) + 1;
  if (process.argv.includes("--json")) console.log(JSON.stringify({ ok: true, name, counts }));
  else console.log(name, counts);
} finally {
  await server.stop();
}

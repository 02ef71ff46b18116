// Writes the generated pages: docs/tables.md, docs/node-events.md and llms.txt. `test/documents.test.ts` checks that they are current.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeEvents } from "./describe-events.js";
import { describeLlms } from "./describe-llms.js";
import { describeTables } from "./describe-tables.js";

const ROOT = join(import.meta.dirname, "..");
const PAGES = { "docs/tables.md": describeTables, "docs/node-events.md": describeEvents, "llms.txt": describeLlms };

for (const [file, describe] of Object.entries(PAGES)) writeFileSync(join(ROOT, file), describe());
const files = Object.keys(PAGES);
console.log(process.argv.includes("--json") ? JSON.stringify({ ok: true, files }) : `wrote ${files.join(", ")}`);

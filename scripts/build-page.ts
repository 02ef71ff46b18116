// Builds the dashboard before `npm start`, unless the built one is newer than its source.

import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const BUILT = join(ROOT, "dist/dashboard/index.html");
const SOURCES = ["dashboard", "src/admin"];

function newest(folder: string): number {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return Math.max(...files.map((name) => statSync(join(ROOT, folder, name)).mtimeMs));
}

const builtAt = statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
if (builtAt < Math.max(...SOURCES.map(newest))) {
  const vite = join(ROOT, "node_modules/vite/bin/vite.js");
  execFileSync(process.execPath, [vite, "build", "-c", "dashboard/vite.config.ts"], { cwd: ROOT, stdio: "inherit" });
}

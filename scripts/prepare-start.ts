// Before `npm start`: compiles the source, so that its processes need no loader, and builds the dashboard unless the built one is
// newer than its source.

import { execFile } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "..");
/** Next to `src`: files that are found by their place are found from there, too. */
const COMPILED = join(ROOT, ".compiled-start");
const PAGE = join(ROOT, "dist/dashboard/index.html");
const PAGE_SOURCES = ["dashboard", "src/admin"];

function filesOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
}

async function compile(): Promise<void> {
  const entryPoints = filesOf("src").filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"));
  const how = { format: "esm", target: "node20", sourcemap: true } as const;
  await build({ absWorkingDir: ROOT, entryPoints, outbase: "src", outdir: COMPILED, ...how });
}

async function buildPage(): Promise<void> {
  const builtAt = statSync(PAGE, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const changedAt = Math.max(...PAGE_SOURCES.flatMap(filesOf).map((name) => statSync(join(ROOT, name)).mtimeMs));
  if (builtAt > changedAt) return;
  const vite = join(ROOT, "node_modules/vite/bin/vite.js");
  await promisify(execFile)(process.execPath, [vite, "build", "-c", "dashboard/vite.config.ts"], { cwd: ROOT });
}

await Promise.all([compile(), buildPage()]);

// Builds the dashboard once per test file, into a folder of its own.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";

export interface Built {
  readonly folder: string;
  remove(): void;
}

export async function buildDashboard(): Promise<Built> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-dashboard-"));
  const configFile = join(import.meta.dirname, "../../dashboard/vite.config.ts");
  await build({ configFile, logLevel: "error", build: { outDir: folder, emptyOutDir: false } });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Each file with its compressed length in bytes. */
export function compressedSizes(folder: string): ReadonlyMap<string, number> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
  return new Map(files.map((name) => [name, gzipSync(readFileSync(join(folder, name))).length]));
}

// Builds the dashboard into a folder of its own, and measures it.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";

export interface Built {
  readonly folder: string;
  remove(): void;
}

const ROOT = join(import.meta.dirname, "../..");

/** `root`: of the repository, for callers that are compiled to elsewhere. */
export async function buildDashboard({
  root = ROOT,
  into,
}: {
  readonly root?: string;
  readonly into?: string;
} = {}): Promise<Built> {
  const folder = into ?? mkdtempSync(join(tmpdir(), "holdfast-dashboard-"));
  const configFile = join(root, "dashboard/vite.config.ts");
  await build({ configFile, logLevel: "error", build: { outDir: folder, emptyOutDir: false } });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Each file with its compressed length in bytes. */
export function compressedSizes(folder: string): ReadonlyMap<string, number> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
  return new Map(files.map((name) => [name, gzipSync(readFileSync(join(folder, name))).length]));
}

export function totalSize(folder: string): number {
  return [...compressedSizes(folder).values()].reduce((a, b) => a + b, 0);
}

/** The compressed length of everything that the overview needs before it is shown. */
export function firstLoad(folder: string): number {
  const sizes = compressedSizes(folder);
  const [, entry] = /src="\.\/(assets\/[^"]+\.js)"/.exec(readFileSync(join(folder, "index.html"), "utf8"))!;
  const overview = readdirSync(join(folder, "assets")).find((name) => name.startsWith("overview-"))!;
  const scripts = withImports(folder, `assets/${overview}`, new Set(withImports(folder, entry!)));
  const styles = [...sizes.keys()].filter((name) => name.endsWith(".css"));
  return ["index.html", ...styles, ...scripts].reduce((sum, name) => sum + sizes.get(name)!, 0);
}

/** A script and what it imports before it runs. */
function withImports(folder: string, name: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  const text = readFileSync(join(folder, name), "utf8");
  for (const [, path] of text.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g))
    withImports(folder, `assets/${path}`, seen);
  return seen;
}

// Loads a library by its name; a peer comes from bench/node_modules, which only `npm run bench:install` fills.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Library } from "./library.js";

/** In the order of the report. */
export const PEERS = ["graphile-worker", "pg-boss", "openworkflow", "dbos"] as const;
export const LIBRARIES = ["holdfast", "sql", ...PEERS] as const;
export type LibraryName = (typeof LIBRARIES)[number];

/** The benchmarks run from a compiled copy; the working directory is the project. */
const BENCH = join(process.cwd(), "bench");

export async function loadLibrary(name: LibraryName): Promise<Library> {
  const { library } = (await import(`./${name}.js`)) as { library: Library };
  return library;
}

/** A package of bench/node_modules. */
export async function loadPeer<Module>(name: string): Promise<Module> {
  const found = createRequire(join(BENCH, "package.json")).resolve(name);
  return (await import(pathToFileURL(found).href)) as Module;
}

export const peersInstalled = () => existsSync(join(BENCH, "node_modules/graphile-worker"));

export function versionOf({ packageName }: Library): string {
  if (packageName === null) return "";
  const folder = packageName === "holdfast" ? join(BENCH, "..") : join(BENCH, "node_modules", packageName);
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version as string;
}

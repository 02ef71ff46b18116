// Loads a library by its name; a peer comes from bench/node_modules, which only `npm run bench:install` fills.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Library } from "./library.js";

/** In the order of the report. */
const LOADERS = {
  holdfast: () => import("./holdfast.js"),
  sql: () => import("./sql.js"),
  "graphile-worker": () => import("./graphile-worker.js"),
  "pg-boss": () => import("./pg-boss.js"),
  openworkflow: () => import("./openworkflow.js"),
  dbos: () => import("./dbos.js"),
};
export type LibraryName = keyof typeof LOADERS;
export const LIBRARIES = Object.keys(LOADERS) as LibraryName[];

/** The benchmarks run from a compiled copy; the working directory is the project. */
const BENCH = join(process.cwd(), "bench");

export async function loadLibrary(name: LibraryName): Promise<Library> {
  return (await LOADERS[name]()).library;
}

/** A package of bench/node_modules. */
export async function loadPeer<Module>(name: string): Promise<Module> {
  const found = createRequire(join(BENCH, "package.json")).resolve(name);
  return (await import(pathToFileURL(found).href)) as Module;
}

export function versionOf({ packageName }: Library): string {
  if (packageName === null) return "";
  const folder = packageName === "holdfast" ? join(BENCH, "..") : join(BENCH, "node_modules", packageName);
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version as string;
}

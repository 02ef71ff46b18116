// A test starts a process from a compiled copy of the project: compiling on the way takes 1.8 s of a core, this 0.45 s.

import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    compiledFolder: string;
  }
}

const ROOT = join(import.meta.dirname, "../..");
const FOLDERS = ["src", "test", "chaos", "soak", "scripts", "examples", "bench"];
/** Tests, which start nothing, and the peers of the benchmarks. */
const LEFT_OUT = /\.test\.ts$|\.d\.ts$|node_modules/;

/** The compiled copy of a TypeScript file of this project. */
export function compiled(file: string): string {
  const folder = inject("compiledFolder");
  if (folder === "") throw new Error("nothing was compiled: name every test file by its path, or none");
  return join(folder, relative(ROOT, file).replace(/\.ts$/, ".js"));
}

/** Inside the project, so that its packages are found. */
export async function compileAll(): Promise<{ readonly folder: string; readonly remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(ROOT, ".compiled-"));
  // Some processes run under another account.
  await chmod(folder, 0o755);
  const named = await Promise.all(FOLDERS.map((name) => readdir(join(ROOT, name), { recursive: true })));
  const files = named.flatMap((names, i) => names.map((name) => join(FOLDERS[i]!, name)));
  const entryPoints = files.filter((file) => file.endsWith(".ts") && !LEFT_OUT.test(file));
  await build({ absWorkingDir: ROOT, entryPoints, outbase: ROOT, outdir: folder, format: "esm", target: "node20" });
  await writeFile(join(folder, "package.json"), await ownPackage());
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Under its own name the copy finds itself, and not what was built last; examples find the server of the test run. */
async function ownPackage(): Promise<string> {
  const { name, type, exports } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const doors = { ...exports, "./embedded": "./test/harness/embedded-there.js" };
  return JSON.stringify({ name, type, exports: doors }).replaceAll("./dist/", "./src/");
}

// Compiles the program of a child process into one file: compiled on the way, each start takes 1.4 s of a core more.

import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "..");
const TARGET = { platform: "node", format: "esm", target: "node20", logLevel: "error" } as const;

/** Inside the project, for its packages; the caller removes it. */
export async function compileChild(file: string): Promise<string> {
  const folder = join(ROOT, "node_modules", ".cache");
  await mkdir(folder, { recursive: true });
  const outfile = join(folder, `holdfast-${basename(join(file, ".."))}-${process.pid}-${Date.now()}.mjs`);
  await build({ absWorkingDir: ROOT, entryPoints: [file], outfile, bundle: true, packages: "external", ...TARGET });
  return outfile;
}

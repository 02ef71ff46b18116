// Puts the packages of the `holdfast` command into dist/cli/library: one file each, so that a command loads only what it uses.

import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { BUNDLED } from "./bundle-options.js";

const ROOT = resolve(import.meta.dirname, "..");
const SOURCE = join(ROOT, "src", "cli", "library");

/** Returns the size of all files in bytes. */
export async function bundleCli(outdir: string): Promise<number> {
  const { metafile } = await build({
    entryPoints: readdirSync(SOURCE).map((name) => join(SOURCE, name)),
    outdir,
    ...BUNDLED,
    // The MCP server is a third smaller; no message has a name of these packages.
    minifyIdentifiers: true,
    splitting: true,
    chunkNames: "[name]-[hash]",
  });
  return Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
}

if (process.argv[1] === import.meta.filename) {
  const bytes = await bundleCli(join(ROOT, "dist", "cli", "library"));
  console.log(`dist/cli/library: ${Math.round(bytes / 1024)} kB`);
}

// Packs the library as it is published, and installs the archive into an empty folder as a user does.

import { execFile } from "node:child_process";
import { lstat, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Packed } from "./package-content.js";

export const ROOT = join(import.meta.dirname, "../..");

/** What the command printed. */
export async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, HOLDFAST_LOG: "off" };
  const { stdout } = await promisify(execFile)(command, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

/** Builds first (`prepack`), whose lines come before the report. */
export async function pack(folder: string): Promise<Packed & { readonly archive: string }> {
  const printed = await run(ROOT, "npm", "pack", "--json", "--silent", "--pack-destination", folder);
  const [packed] = JSON.parse(printed.slice(printed.search(/^\[$/m))) as [Packed];
  return { ...packed, archive: join(folder, packed.filename) };
}

/** Packages and bytes of files below `node_modules`, and what the built library loads. */
export async function installed(archive: string): Promise<{ packages: number; bytes: number; files: number }> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-installed-"));
  try {
    await run(folder, "npm", "init", "-y");
    await run(folder, "npm", "install", archive);
    const modules = join(folder, "node_modules");
    const { packages } = JSON.parse(await readFile(join(modules, ".package-lock.json"), "utf8"));
    const found = await readdir(modules, { recursive: true, withFileTypes: true });
    const files = found.filter((entry) => entry.isFile());
    const sizes = await Promise.all(files.map(async (file) => (await lstat(join(file.parentPath, file.name))).size));
    return {
      packages: Object.keys(packages).length,
      bytes: sizes.reduce((sum, size) => sum + size, 0),
      files: files.length,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

// What an application gets: packages and bytes of `npm install holdfast`, and the compressed bytes of the page.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildDashboard, firstLoad, totalSize } from "../test/dashboard/built.js";
import { atMost, type Bound } from "./dashboard-bound.js";

const ROOT = process.cwd();

export async function benchInstall(add: (one: Bound) => void): Promise<void> {
  const built = await buildDashboard({ root: ROOT });
  add(atMost("dashboard, kB compressed", totalSize(built.folder) / 1000, 200));
  add(atMost("first load, kB compressed", firstLoad(built.folder) / 1000, 45));
  built.remove();
  const folder = mkdtempSync(join(tmpdir(), "holdfast-install-"));
  try {
    const run = (words: readonly string[], cwd: string) =>
      execFileSync("npm", [...words, "--silent"], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
    run(["run", "build"], ROOT);
    const packed = run(["pack", "--ignore-scripts", "--pack-destination", folder], ROOT).trim().split("\n").at(-1)!;
    writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
    run(["install", "--ignore-scripts", "--no-audit", "--no-fund", `./${packed}`], folder);
    const { packages, bytes } = sizeOf(join(folder, "node_modules"));
    add(atMost("npm i holdfast, packages", packages, 19));
    add(atMost("npm i holdfast, MB", bytes / 1e6, 12));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Bytes as they are in the files; a package is a folder with a package.json directly under `node_modules` or a scope. */
function sizeOf(folder: string): { readonly packages: number; readonly bytes: number } {
  let [packages, bytes] = [0, 0];
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const stats = statSync(join(folder, name));
    if (stats.isFile()) bytes += stats.size;
    if (/(^|node_modules\/)(@[^/]+\/)?[^/.@][^/]*\/package\.json$/.test(name)) packages++;
  }
  return { packages, bytes };
}

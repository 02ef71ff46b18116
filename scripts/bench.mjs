// `npm run bench -- …`: compiles the benchmarks and what they measure first. Run through a loader that compiles on the way,
// every closure pays for its name: 12 % of the steps per second, and only of ours.

import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const out = join(root, "node_modules/.cache/holdfast-bench");
const tsc = join(root, "node_modules/typescript/bin/tsc");
execFileSync(process.execPath, [tsc, "-p", "tsconfig.json", "--noEmit", "false", "--outDir", out], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
});
copyFileSync(join(root, "package.json"), join(out, "package.json"));
const { status } = spawnSync(process.execPath, [join(out, "bench/run.js"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
process.exitCode = status ?? 1;

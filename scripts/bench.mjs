// `npm run bench -- …`: compiles the benchmarks and what they measure first. Run through a loader that compiles on the way,
// every closure pays for its name: 12 % of the steps per second, and only of ours.

import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const out = join(root, "node_modules/.cache/holdfast-bench");
const tsc = join(root, "node_modules/typescript/bin/tsc");
const words = process.argv.slice(2);

if (words.includes("--peers") && !existsSync(join(root, "bench/node_modules/graphile-worker"))) {
  console.error("installing the peers into bench/node_modules, once");
  execFileSync("npm", ["run", "--silent", "bench:install"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
}
execFileSync(process.execPath, [tsc, "-p", "tsconfig.json", "--noEmit", "false", "--outDir", out], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
});
// Under its own name the copy finds itself as an application finds the package: by its exports, compiled as for publishing.
copyFileSync(join(root, "package.json"), join(out, "package.json"));
rmSync(join(out, "dist"), { recursive: true, force: true });
symlinkSync("src", join(out, "dist"));
const { status } = spawnSync(process.execPath, [join(out, "bench/run.js"), ...words], { cwd: root, stdio: "inherit" });
process.exitCode = status ?? 1;

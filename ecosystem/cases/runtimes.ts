// Runtimes: the application as it is, on every runtime; loaded by require(); bundled into one file.

import { copyFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Format } from "esbuild";
import { HERE, PACKAGES, type Place, run } from "../place.js";
import { killAndRecover } from "./recovery.js";

const APP = join(HERE, "app/app.mjs");
const node = (major: number) => join(PACKAGES, `node-${major}/bin/node`);
const BUN = join(PACKAGES, "@oven/bun-linux-x64/bin/bun");
const DENO = join(PACKAGES, "@deno/linux-x64-glibc/deno");

const onNode = (major: number) => async (place: Place) => {
  const version = (await run(node(major), ["--version"])).trim();
  return { version, ...(await killAndRecover(place, { program: node(major), args: [APP] })) };
};

const required = (major: number) => async (place: Place) =>
  killAndRecover(place, { program: node(major), args: [join(HERE, "app/app.cjs")] });

/** In a folder without packages: what is missing in the bundle is missing. */
const bundled = (format: Format, minify: boolean) => async (place: Place) => {
  const folder = await place.newFolder();
  const outfile = join(folder, format === "esm" ? "app.mjs" : "app.cjs");
  // In a bundle of ES modules, packages written as CommonJS need a require().
  const banner = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;
  const { metafile } = await build({
    entryPoints: [APP],
    outfile,
    bundle: true,
    platform: "node",
    target: "node20",
    format,
    minify,
    metafile: true,
    external: ["pg-native"],
    ...(format === "esm" && { banner: { js: banner } }),
    logLevel: "error",
  });
  const { bytes } = Object.values(metafile.outputs)[0]!;
  return { bytes, ...(await killAndRecover(place, { program: node(20), args: [outfile], cwd: folder })) };
};

async function onDeno(place: Place): Promise<object> {
  const version = (await run(DENO, ["--version"])).split("\n")[0]!;
  const args = ["run", "--quiet", "--allow-all", "--node-modules-dir=manual", "app.mjs"];
  const folder = await place.newFolder();
  for (const file of ["app.mjs", "story.cjs"]) await copyFile(join(HERE, "app", file), join(folder, file));
  await symlink(PACKAGES, join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module", dependencies: { holdfast: "*" } }));
  return { version, ...(await killAndRecover(place, { program: DENO, args, cwd: folder })) };
}

async function onBun(place: Place): Promise<object> {
  const version = (await run(BUN, ["--version"])).trim();
  return { version, ...(await killAndRecover(place, { program: BUN, args: ["run", APP] })) };
}

export const RUNTIMES = {
  "node 20": onNode(20),
  "node 22": onNode(22),
  "node 24": onNode(24),
  "node 26": onNode(26),
  bun: onBun,
  deno: onDeno,
  "require on node 20": required(20),
  "require on node 26": required(26),
  "bundle esm": bundled("esm", false),
  "bundle cjs": bundled("cjs", false),
  "bundle minified": bundled("esm", true),
};

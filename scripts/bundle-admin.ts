// Bundles the admin API into one file of dist, with its HTTP router, schemas and metrics; the rest of the package stays outside.

import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import { BUNDLED } from "./bundle-options.js";

const ROOT = resolve(import.meta.dirname, "..");
const ADMIN = join(ROOT, "src", "admin");
const OUT = join(ROOT, "dist", "admin");

/** Classes of errors must be the package's own: imports that leave the folder keep pointing at the built files. */
const outside: Plugin = {
  name: "outside",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
      const target = resolve(resolveDir, path);
      if (!resolveDir.startsWith(ADMIN) || target.startsWith(`${ADMIN}/`)) return null;
      const built = relative(OUT, join(ROOT, "dist", relative(join(ROOT, "src"), target)));
      return { path: built, external: true };
    });
  },
};

const { metafile } = await build({
  entryPoints: [join(ADMIN, "index.ts")],
  outfile: join(OUT, "index.js"),
  ...BUNDLED,
  plugins: [outside],
});

/** The bundle replaces the files it was made of; of their types only those that the entry point shows stay. */
for (const name of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
  const isBundled = name.endsWith(".js") || name.endsWith(".js.map");
  if (isBundled && name !== "index.js") rmSync(join(OUT, name));
}
const { openApi } = await import("../src/admin/openapi.js");
writeFileSync(join(OUT, "openapi.json"), JSON.stringify(openApi()));
const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
console.log(`dist/admin/index.js: ${Math.round(bytes / 1024)} kB`);

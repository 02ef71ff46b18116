// What the bundles of dist have in common: one ESM file for Node 20 with the licences of its packages at the end.

import type { BuildOptions } from "esbuild";

export const BUNDLED = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: false,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "eof",
  metafile: true,
  // prom-client, commander and cli-progress are CommonJS and ask for modules of Node.
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
} as const satisfies BuildOptions;

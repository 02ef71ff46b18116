// How the dashboard is built: hashed files under `dist/dashboard` whose addresses are relative, so that any mount prefix works.

import { join } from "node:path";
import { defineConfig } from "vite";
import { licences } from "./licences.js";

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  publicDir: false,
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [licences()],
  worker: { format: "es" },
  build: {
    outDir: join(import.meta.dirname, "../dist/dashboard"),
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    // The polyfill is an inline script's work, which the page's policy refuses; all supported browsers know modulepreload.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});

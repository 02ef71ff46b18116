// Emits the licences of the packages that are built into the page, as they ask for.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const PACKAGES = [
  "preact",
  "@preact/signals",
  "@preact/signals-core",
  "@tanstack/virtual-core",
  "uplot",
  "@dagrejs/dagre",
  "@dagrejs/graphlib",
];
const MODULES = join(import.meta.dirname, "../node_modules");

export function licences(): Plugin {
  return {
    name: "licences",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "licences.txt", source: PACKAGES.map(licenceOf).join("\n\n") });
    },
  };
}

function licenceOf(name: string): string {
  const folder = join(MODULES, name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8").trim();
  return `${name} ${version}, ${license}\n\n${text}`;
}

// Removes declarations from dist that no entry point reaches: two of three files, which an editor would never open.

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const MENTIONED = /(?:from|import\()\s*"(\.[^"]+)\.js"/g;

/** Every file of declarations that these mention, directly or not. */
export function reachable(entries: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const left = [...entries];
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, path] of readFileSync(file, "utf8").matchAll(MENTIONED)) {
      left.push(resolve(dirname(file), `${path}.d.ts`));
    }
  }
  return found;
}

/** `folder`: the built files, which `exports` names from the folder above. */
export function pruneDeclarations(
  folder: string,
  exports: Readonly<Record<string, { readonly types: string }>>,
): number {
  const needed = reachable(Object.values(exports).map(({ types }) => resolve(folder, "..", types)));
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".d.ts"));
  const unneeded = all.map((name) => join(folder, name)).filter((file) => !needed.has(file));
  for (const file of unneeded) rmSync(file);
  return unneeded.length;
}

if (process.argv[1] === import.meta.filename) {
  const root = resolve(import.meta.dirname, "..");
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  console.log(`dist: ${pruneDeclarations(join(root, "dist"), exports)} declarations removed`);
}

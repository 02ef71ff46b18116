// Plants a bug on a copy of the project: the source itself is never touched.

import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyEdit, type Mutant } from "./mutant.js";

const ROOT = join(import.meta.dirname, "..");
const COPIED = [
  "src",
  "test",
  "bench",
  "chaos",
  "examples",
  "scripts",
  "mutants",
  "SECURITY.md",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
];

/** The copy's folder; null when the patch does not apply. Without a mutant, a copy as it is. */
export async function plant(mutant: Mutant | null): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-mutant-"));
  for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const edit of mutant?.edits ?? []) {
    const file = join(folder, edit.file);
    const patched = applyEdit(await readFile(file, "utf8"), edit);
    if (patched === null) {
      await rm(folder, { recursive: true });
      return null;
    }
    await writeFile(file, patched);
  }
  return folder;
}

// Plants bugs on a copy of the project: the source itself is never touched.

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
  "soak",
  "examples",
  "scripts",
  "mutants",
  "SECURITY.md",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
];

/** A copy of the project, for one planted bug at a time. */
export class Copy {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<Copy> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-mutant-"));
    for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    return new Copy(folder);
  }

  /** Returns the function that removes the bug again; null, and nothing has changed, when the patch does not apply. */
  async plant(mutant: Mutant): Promise<(() => Promise<void>) | null> {
    const before = new Map<string, string>();
    const restore = async () => {
      for (const [file, text] of before) await writeFile(file, text);
    };
    for (const edit of mutant.edits) {
      const file = join(this.folder, edit.file);
      const text = await readFile(file, "utf8");
      const patched = applyEdit(text, edit);
      if (patched === null) {
        await restore();
        return null;
      }
      if (!before.has(file)) before.set(file, text);
      await writeFile(file, patched);
    }
    return restore;
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}

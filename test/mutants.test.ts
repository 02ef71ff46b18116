// The planted bugs of `npm run mutants` still apply to the source.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { MUTANTS } from "../mutants/index.js";
import { applyEdit } from "../mutants/mutant.js";

const ROOT = join(import.meta.dirname, "..");

describe("planted bug", () => {
  for (const { name, edits, killedBy } of MUTANTS) {
    test(`"${name}" still applies and names tests that exist`, () => {
      for (const edit of edits) expect(applyEdit(readFileSync(join(ROOT, edit.file), "utf8"), edit)).not.toBeNull();
      for (const killer of killedBy) {
        if ("file" in killer) expect(existsSync(join(ROOT, killer.file)), killer.file).toBe(true);
      }
    });
  }

  test("has a name of its own", () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });
});

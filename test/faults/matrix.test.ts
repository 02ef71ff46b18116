// The matrix of faults is complete: every number has tests that exist, or a reason, and the page says the same.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { selects } from "../harness/test-names.js";
import { FAULTS, matches, namedBy } from "./matrix.js";
import { pageWith } from "./page.js";

const ROOT = join(import.meta.dirname, "../..");
const LAST = 86;

describe("the matrix of faults", () => {
  test("has F01 to F86, each once and in order", () => {
    const wanted = Array.from({ length: LAST }, (_, i) => `F${String(i + 1).padStart(2, "0")}`);
    expect(FAULTS.map(({ id }) => id)).toEqual(wanted);
  });

  test.each(FAULTS)("$id has tests that exist, or a reason why not", ({ tests, whyNot }) => {
    expect(tests.length > 0 || (whyNot ?? "") !== "").toBe(true);
    for (const one of tests) {
      const { file, text } = namedBy(one);
      expect(existsSync(join(ROOT, file)), file).toBe(true);
      if (text !== undefined) expect(selects(file, text.replace(/^\^/, "").trim()), one).toBe(true);
    }
  });

  test("is what docs/faults.md says", () => {
    const page = readFileSync(join(ROOT, "docs/faults.md"), "utf8");
    expect(pageWith(page), "run `npm run faults -- --write`").toBe(page);
  });

  test("names tests by a part of their name, or by how it begins", () => {
    expect(matches("a step (F05)", "(F05)")).toBe(true);
    expect(matches("lists of commits", "^commits ")).toBe(false);
    expect(matches("commits are fenced", "^commits ")).toBe(true);
    expect(matches("anything", undefined)).toBe(true);
  });
});

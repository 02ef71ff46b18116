// The planted bugs of `npm run mutants` still apply to the source.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { MUTANTS } from "../mutants/index.js";
import { AREAS, invariantOf, PROMISES } from "../mutants/invariant.js";
import { applyEdit } from "../mutants/mutant.js";
import { selects } from "./harness/test-names.js";

const ROOT = join(import.meta.dirname, "..");

describe("planted bug", () => {
  for (const { name, edits, killedBy } of MUTANTS) {
    test(`"${name}" still applies and names tests that exist`, () => {
      for (const edit of edits) expect(applyEdit(readFileSync(join(ROOT, edit.file), "utf8"), edit)).not.toBeNull();
      for (const killer of killedBy) {
        if (!("file" in killer)) continue;
        expect(existsSync(join(ROOT, killer.file)), killer.file).toBe(true);
        if (killer.test !== undefined) expect(selects(killer.file, killer.test), killer.test).toBe(true);
      }
    });
  }

  test("names its tests by their words: a wrong text, or one of another file, selects nothing", () => {
    const [conformance, events] = ["test/conformance/memory.test.ts", "test/trigger/emit.test.ts"];
    expect(selects(conformance, "complete ends the run|memory store alone")).toBe(true);
    expect(selects(conformance, "complete ends the run|wrong text")).toBe(false);
    expect(selects(events, "debounced per env")).toBe(true);
    expect(selects(events, "debounced per wrong text")).toBe(false);
    expect(selects(events, "complete ends the run")).toBe(false);
  });

  test("names the invariant that it breaks, one of ARCHITECTURE's or an area of promises", () => {
    const architecture = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
    const known = new Set<string>([...architecture.matchAll(/^\| ([SL]\d+) \|/gm)].map(([, id]) => id!).concat(AREAS));
    const nameless = MUTANTS.filter(({ breaks }) => !known.has(invariantOf(breaks) ?? ""));
    expect(nameless.map(({ name, breaks }) => `${name}: ${breaks}`)).toEqual([]);
    expect(PROMISES.filter((promise) => !MUTANTS.some(({ breaks }) => breaks === promise))).toEqual([]);
    // Each safety invariant has a bug that breaks it.
    const broken = new Set(MUTANTS.map(({ breaks }) => invariantOf(breaks)));
    expect([...known].filter((id) => id.startsWith("S") && !broken.has(id))).toEqual([]);
  });

  test("has a name of its own", () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });
});

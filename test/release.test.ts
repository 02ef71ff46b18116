// What a release demands: an archive with what a user needs, a tree whose versions agree, and nothing left to do before it is published.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { pruneDeclarations } from "../scripts/prune-declarations.js";
import { fileProblems, loadedFiles, MOST, type PackedFile, sizeProblems } from "../scripts/release/package-content.js";
import { contradictions, type Facts, left, newestEntry } from "../scripts/release/readiness.js";

const ROOT = join(import.meta.dirname, "..");
const read = (name: string) => readFileSync(join(ROOT, name), "utf8");
const manifest = JSON.parse(read("package.json"));

/** What npm would pack, by the `files` of package.json; `dist` is there or not, as it was built last. */
const packed: readonly PackedFile[] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT, encoding: "utf8" }),
)[0].files;

describe("the package", () => {
  const loaded = loadedFiles(manifest);
  const fileNamed = (path: string) => ({ path, size: 1 });
  const whole = [...packed.filter(({ path }) => !path.startsWith("dist/")), ...loaded.map(fileNamed)];

  test("has what its exports name and what people read, and nothing of the workshop", () => {
    expect(fileProblems(whole, loaded)).toEqual([]);
  });

  test.each([
    ["a source", "src/index.ts"],
    ["a source map", "dist/index.js.map"],
    ["a test", "test/api.test.ts"],
    ["the simulator", "dist/simulator/world.js"],
    ["the lock file", "package-lock.json"],
  ])("is refused with %s", (_what, path) => {
    expect(fileProblems([...whole, fileNamed(path)], loaded)).toHaveLength(1);
  });

  test("is refused without a file that an entry point names, and with a large picture", () => {
    const without = whole.filter(({ path }) => path !== "dist/dag/index.js");
    expect(fileProblems(without, loaded)).toEqual(["dist/dag/index.js is missing"]);
    const large = { path: "docs/pictures/large.png", size: MOST.pictureBytes + 1 };
    expect(fileProblems([...whole, large], loaded)).toHaveLength(1);
  });

  test("is refused when archive, package or number of files is over its limit", () => {
    const small = { filename: "x.tgz", version: "1.0.0", size: 1, unpackedSize: 1, files: [] };
    expect(sizeProblems(small)).toEqual([]);
    const files = Array.from({ length: MOST.files + 1 }, (_, i) => fileNamed(String(i)));
    const over = { ...small, size: MOST.archiveBytes + 1, unpackedSize: MOST.unpackedBytes + 1, files };
    expect(sizeProblems(over)).toHaveLength(3);
  });
});

test("a package has the declarations that its entry points reach, and no others", () => {
  const root = mkdtempSync(join(tmpdir(), "holdfast-prune-"));
  const folder = join(root, "dist");
  try {
    mkdirSync(join(folder, "part"), { recursive: true });
    const files = {
      "index.d.ts": 'export { a } from "./part/a.js";\nimport type pg from "pg";\n',
      "part/a.d.ts": 'export declare const a: import("../b.js").B;\n',
      "b.d.ts": 'import type { C } from "./part/c.js";\nexport type B = C;\n',
      "part/c.d.ts": 'import "../index.js";\nexport type C = 1;\n',
      "part/unneeded.d.ts": 'export { a } from "./a.js";\n',
      "part/unneeded.js": "export {};\n",
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    expect(pruneDeclarations(folder, { ".": { types: "./dist/index.d.ts" } })).toBe(1);
    const left = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
    expect(left.sort()).toEqual(["b.d.ts", "index.d.ts", "part/a.d.ts", "part/c.d.ts", "part/unneeded.js"]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

const READY: Facts = {
  version: "1.2.0",
  lockedVersion: "1.2.0",
  changelog: "# Changelog\n\n## 1.2.0 (2026-11-17)\n\n### Upgrade notes\n\nNone.\n\n## 1.1.0 (2026-10-01)\n",
  changes: [],
  tags: ["v1.1.0"],
  commit: "c".repeat(40),
  tested: "c".repeat(40),
  repository: "https://example.com/holdfast",
  canSign: true,
};

describe("a release", () => {
  test("of a clean, tested, dated tree has nothing left to do", () => {
    expect([...contradictions(READY), ...left(READY)]).toEqual([]);
  });

  test.each<[string, Partial<Facts>, RegExp]>([
    ["a changed file", { changes: [" M src/index.ts"] }, /src\/index\.ts/],
    ["another version in the lock file", { lockedVersion: "1.1.0" }, /package-lock/],
    ["another version in the changelog", { version: "1.3.0", lockedVersion: "1.3.0" }, /CHANGELOG.*1\.3\.0/],
    ["a changelog without upgrade notes", { changelog: "## 1.2.0 (2026-11-17)\n\n- x\n" }, /Upgrade notes/],
    ["an empty changelog", { changelog: "" }, /missing/],
    ["a version that was released", { tags: ["v1.2.0"] }, /v1\.2\.0 exists/],
    ["a version that is none", { version: "next", lockedVersion: "next" }, /1\.2\.3/],
  ])("contradicts itself with %s", (_what, facts, sentence) => {
    expect(contradictions({ ...READY, ...facts }).join(" ")).toMatch(sentence);
  });

  test.each<[string, Partial<Facts>, RegExp]>([
    ["without a day", { changelog: "## 1.2.0 (unreleased)\n" }, /unreleased/],
    ["when another commit was tested", { tested: "d".repeat(40) }, /--tested cccccccccccc/],
    ["when no commit was tested", { tested: null }, /whole suite/],
    ["without a repository", { repository: null }, /repository/],
    ["outside of CI", { canSign: false }, /identity token/],
  ])("is not published %s", (_what, facts, sentence) => {
    expect(left({ ...READY, ...facts }).join(" ")).toMatch(sentence);
  });

  test("finds its own entry in the changelog, with upgrade notes", () => {
    const entry = newestEntry(read("CHANGELOG.md"));
    expect(entry?.version).toBe(manifest.version);
    expect(entry?.text).toContain("### Upgrade notes");
  });
});

describe("the forms for issues", () => {
  const folder = join(ROOT, ".github/ISSUE_TEMPLATE");

  test("ask for what is needed to answer, and a bug for the doctor's report", () => {
    const forms = readdirSync(folder).filter((name) => name !== "config.yml");
    expect(forms.sort()).toEqual(["bug.yml", "feature.yml", "question.yml"]);
    for (const name of forms) {
      const { name: title, description, body } = parse(readFileSync(join(folder, name), "utf8"));
      expect([title, description].every((text) => text.length > 0)).toBe(true);
      const fields = body.filter(({ type }: { type: string }) => type !== "markdown");
      expect(new Set(fields.map(({ id }: { id: string }) => id)).size).toBe(fields.length);
      expect(fields.some((field: { validations?: { required?: boolean } }) => field.validations?.required)).toBe(true);
    }
    expect(readFileSync(join(folder, "bug.yml"), "utf8")).toContain("npx holdfast doctor --json");
  });
});

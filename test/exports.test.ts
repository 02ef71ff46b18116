// The size of the public API: values per entry point, options of createNode; every entry point is built and resolved alike.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { OPTION_NAMES } from "../src/node/node-options.js";

const ROOT = join(import.meta.dirname, "..");

/** The most values (functions, classes, constants) that an entry point may export. Types are not counted. */
const MOST_VALUES: Readonly<Record<string, number>> = {
  ".": 50,
  "./dag": 20,
  "./graph": 20,
  "./actor": 15,
  "./machine": 15,
  "./lease": 10,
  "./timeout": 10,
  "./postgres": 10,
  "./memory": 10,
  "./embedded": 10,
  "./admin": 10,
  "./testing": 10,
  "./otel": 5,
  "./compat": 10,
  "./drizzle": 2,
  "./kysely": 2,
  "./knex": 2,
  "./prisma": 2,
};

interface Manifest {
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
}

const readJson = (name: string) => JSON.parse(readFileSync(join(ROOT, name), "utf8"));
const { exports, files }: Manifest = readJson("package.json");
const { compilerOptions: compiler } = readJson("tsconfig.json");
const { compilerOptions: build, include } = readJson("tsconfig.build.json");
const sourceOf = (built: string) => built.replace(/^\.\/dist\//, "./src/").replace(/\.js$/, ".ts");
const nameOf = (path: string) => join("holdfast", path);
const valuesOf = async (path: string) => Object.keys(await import(join(ROOT, sourceOf(exports[path]!.default))));

describe("the entry points of the package", () => {
  test("all have a limit", () => {
    expect(Object.keys(exports)).toEqual(Object.keys(MOST_VALUES));
  });

  test.each(Object.entries(MOST_VALUES))("%s exports at most %i values", async (path, most) => {
    const values = await valuesOf(path);
    expect(values.length, values.join(", ")).toBeLessThanOrEqual(most);
    expect(values.length).toBeGreaterThan(0);
  });

  test("export no value twice", async () => {
    const all = (await Promise.all(Object.keys(exports).map(valuesOf))).flat();
    expect(all.filter((name, i) => all.indexOf(name) !== i)).toEqual([]);
  });

  test("are the paths of the compiler", () => {
    const paths = Object.entries(exports).map(([path, { default: built }]) => [nameOf(path), [sourceOf(built)]]);
    expect(compiler.paths).toEqual(Object.fromEntries(paths));
  });

  test("are found by the tests under the same names", async () => {
    for (const path of Object.keys(exports)) {
      const byName = await import(/* @vite-ignore */ nameOf(path));
      expect(byName, path).toBe(await import(join(ROOT, sourceOf(exports[path]!.default))));
    }
  });

  test("are built into the folder that is published", () => {
    expect(files).toContain("dist");
    expect([build.rootDir, build.outDir, build.declaration, include]).toEqual(["src", "dist", true, ["src"]]);
    for (const { types, default: built } of Object.values(exports)) {
      expect(types).toBe(built.replace(/\.js$/, ".d.ts"));
      expect(existsSync(join(ROOT, sourceOf(built))), built).toBe(true);
    }
  });
});

describe("the options of createNode", () => {
  test("are at most 15, with at most 10 in a group", () => {
    expect(Object.keys(OPTION_NAMES).length).toBeLessThanOrEqual(15);
    for (const [name, group] of Object.entries(OPTION_NAMES)) {
      if (group !== true) expect(Object.keys(group).length, name).toBeLessThanOrEqual(10);
    }
  });

  test("have no name twice, so that an option at the wrong place finds its group", () => {
    const names = Object.entries(OPTION_NAMES).flatMap(([name, group]) => [
      name,
      ...(group === true ? [] : Object.keys(group)),
    ]);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });
});

// The documents agree with the code and with each other: links, anchors, paths, states, layers, invariants, words.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { describeEvents } from "../scripts/describe-events.js";
import { describeLlms } from "../scripts/describe-llms.js";
import { describeTables } from "../scripts/describe-tables.js";
import { ENDED_STATES, LEGAL_MOVES, RUN_STATES, type RunState } from "../src/kernel/run/run-state.js";
import { retentionOf } from "../src/kernel/setting/retention.js";
import { DIALECT } from "./harness/dialect.js";

const ROOT = join(import.meta.dirname, "..");
const read = (name: string) => readFileSync(join(ROOT, name), "utf8");

const packed = (() => {
  const output = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [{ files }] = JSON.parse(output) as [{ files: { path: string }[] }];
  return new Set(files.map(({ path }) => path));
})();
const packedFolders = new Set([...packed].flatMap((path) => foldersOf(path)));
const packedPages = [...packed].filter((path) => path.endsWith(".md"));
const pages = [...packedPages, "CONTRIBUTING.md", "bench/README.md", "bench/RESULTS.md"];

function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
}

/** Pages for those who read the source, which is not in the package. */
const isAboutSource = (name: string) => name === "ARCHITECTURE.md" || name.startsWith("docs/internals/");

/** Without fenced blocks and code spans, which may hold anything that looks like a link. */
const proseOf = (text: string) => text.replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "`");

const linksOf = (name: string) =>
  [...proseOf(read(name)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!).filter((to) => !/^\w+:/.test(to));

/** As GitHub derives them from headings. */
function anchorsOf(name: string): Set<string> {
  const headings = [
    ...read(name)
      .replace(/```[\s\S]*?```/g, "")
      .matchAll(/^#+ (.+)$/gm),
  ].map(([, text]) => text!);
  const slug = (text: string) =>
    text
      .replace(/`/g, "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
  return new Set(headings.map(slug));
}

describe.each(pages)("%s", (name) => {
  test("links to files and headings that exist, inside the package if the page is in it", () => {
    const dead = linksOf(name).filter((link) => {
      const [path, anchor] = link.split("#") as [string, string | undefined];
      const target = path === "" ? name : normalize(join(name, "..", path));
      const isSource = isAboutSource(name) && target.startsWith("src/");
      const isPacked = packed.has(target) || packedFolders.has(target);
      const there = packed.has(name) && !isSource ? isPacked : existsSync(join(ROOT, target));
      return !there || (anchor !== undefined && !anchorsOf(target).has(anchor));
    });
    expect(dead).toEqual([]);
  });

  test("names files of the repository that exist", () => {
    const named = [...read(name).matchAll(/`((?:src|test|bench|scripts|mutants|examples|docs)\/[\w./-]+)`/g)];
    expect(named.map(([, path]) => path!).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test("is in plain English", () => {
    expect([...proseOf(read(name)).matchAll(DIALECT)].map(([word]) => word)).toEqual([]);
  });

  test("has no line over 140 characters", () => {
    const long = read(name)
      .split("\n")
      .filter((line) => line.length > 140);
    expect(long).toEqual([]);
  });
});

test.each([
  ["docs/tables.md", describeTables],
  ["docs/node-events.md", describeEvents],
  ["llms.txt", describeLlms],
])("%s is what the source says; `npm run reference` writes it", (file, describeIt) => {
  expect(read(file)).toBe(describeIt());
});

test("the reference of events has every event that a node can emit, with the facts of types that it shares", () => {
  const page = read("docs/node-events.md");
  const named = [...page.matchAll(/^- \*\*`([a-z_.]+)`\*\* \(([^)]*)\)/gm)].map(
    ([, name, facts]) => [name!, facts!] as const,
  );
  expect(named.length).toBeGreaterThan(75);
  expect(named.filter(([, facts]) => facts === "").map(([name]) => name)).toEqual([]);
  const source = readFileSync(join(ROOT, "src/node/node-events.ts"), "utf8");
  const levels = [...source.matchAll(/"([a-z]+\.[a-z_]+)": "(?:debug|info|warn|error)"/g)].map(([, name]) => name!);
  expect(levels.filter((name) => !page.includes(`**\`${name}\`**`) && !name.startsWith("work_claim."))).toEqual([]);
});

describe("ARCHITECTURE.md", () => {
  const text = read("ARCHITECTURE.md");
  const section = (title: string) => text.split(`\n## ${title}\n`)[1]!.split("\n## ")[0]!;
  const rowsOf = (title: string) =>
    section(title)
      .split("\n")
      .filter((line) => line.startsWith("| ") && !line.startsWith("| |"))
      .map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );

  test("is a map: at most 250 lines and 45 words", () => {
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(250);
    const words = rowsOf("Words").filter(([word]) => word!.startsWith("**"));
    expect(words.length).toBeGreaterThan(30);
    expect(words.length).toBeLessThanOrEqual(45);
    expect(words.filter((cells) => cells.length !== 3 || cells.some((cell) => cell === ""))).toEqual([]);
  });

  test("has the legal moves of the code in its table, and only legal ones in its picture", () => {
    const moves = rowsOf("States of a run").filter(([state]) => state!.startsWith("`"));
    const table = Object.fromEntries(
      moves.map(([state, , to]) => [
        state!.replaceAll("`", ""),
        to!
          .split(", ")
          .flatMap((one) => (one === "all ended states" ? [...ENDED_STATES] : one === "–" ? [] : [one]))
          .sort(),
      ]),
    );
    const known = Object.fromEntries(RUN_STATES.map((state) => [state, [...LEGAL_MOVES[state]].sort()]));
    expect(table).toEqual(known);

    const arrows = [...section("States of a run").matchAll(/^ {2}(\w+) --> (\w+)/gm)];
    expect(arrows.length).toBeGreaterThan(15);
    expect(arrows.filter(([, from, to]) => !LEGAL_MOVES[from as RunState].includes(to as RunState))).toEqual([]);
  });

  test("names at most 12 files on the path of a run", () => {
    const files = [...section("The path of one run").matchAll(/^(\d+)\. \[`[^`]+`\]\((src\/[^)]+)\)/gm)];
    expect(files.map(([, n]) => Number(n))).toEqual(files.map((_, i) => i + 1));
    expect(files.length).toBeGreaterThan(5);
    expect(files.length).toBeLessThanOrEqual(12);
  });

  test("has the layers of the tidy test, lowest first", () => {
    const layers = rowsOf("Layers")
      .filter(([layer]) => layer!.startsWith("`"))
      .map(([layer]) => layer!.replaceAll("`", ""));
    const [, list] = read("test/tidy.test.ts").match(/const LAYERS = \[\n([\s\S]*?)\n\];/)!;
    const tested = [...list!.matchAll(/\[(.*)\]/g)].map(([, names]) => names!.replaceAll('"', ""));
    expect(layers).toEqual(tested);
  });

  test("defines S1 to S24, L1 to L9, and so every invariant that source and tests cite", () => {
    const defined = rowsOf("Invariants").map(([id]) => id!);
    const upTo = (letter: string, n: number) => Array.from({ length: n }, (_, i) => `${letter}${i + 1}`);
    expect(defined).toEqual([...upTo("S", 24), ...upTo("L", 9)]);
    const cited = new Set<string>();
    for (const folder of ["src", "test", "mutants"]) {
      for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })) {
        if (!name.endsWith(".ts")) continue;
        for (const [id] of read(join(folder, name)).matchAll(/(?<![\w$])[SL][1-9]\d?(?![\w])/g)) cited.add(id);
      }
    }
    expect([...cited].filter((id) => !defined.includes(id))).toEqual([]);
  });
});

describe("docs/stores.md", () => {
  const sectionOf = (title: string) => read("docs/stores.md").split(`\n## ${title}\n`)[1]!.split("\n## ")[0]!;

  test("states the retention that a store has without settings", () => {
    const stated = [...sectionOf("Retention").matchAll(/^\| `(\w+)` \| (\d+) days \|/gm)];
    const days = Object.fromEntries(stated.map(([, name, n]) => [name, Number(n)]));
    expect(days).toEqual(
      Object.fromEntries(Object.entries(retentionOf()).map(([name, ms]) => [name, ms! / 86_400_000])),
    );
  });

  test("states for every table what removes its rows", () => {
    const tables = [...read("src/store/postgres/schema.snapshot.txt").matchAll(/^table (\w+)/gm)].map(
      ([, name]) => name!,
    );
    const named = new Set(
      [...sectionOf("What grows, and what removes it").matchAll(/`(\w+)`/g)].map(([, name]) => name!),
    );
    expect(tables.length).toBeGreaterThan(30);
    expect(tables.filter((name) => !named.has(name))).toEqual([]);
  });
});

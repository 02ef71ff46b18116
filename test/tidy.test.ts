// Style as a test: layers, names, sizes and words of the source.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { DIALECT_IN_TESTS } from "./harness/dialect.js";
import { commentsOf, namesOf } from "./harness/test-names.js";

const ROOT = resolve(import.meta.dirname, "..");
const SRC = join(ROOT, "src");

/** Lowest first; a folder may import itself and what is below it. `compat` and later ones join at the top. */
const LAYERS = [
  ["kernel"],
  ["store"],
  ["telemetry", "orm"],
  ["lease", "engine"],
  ["replay", "trigger", "timeout"],
  ["program"],
  ["workflow"],
  ["dag", "graph", "machine"],
  ["actor"],
  ["client"],
  ["node"],
  ["embedded", "otel"],
  ["admin"],
  ["testing", "dev"],
  ["compat", "simulator", "cli"],
];
const AMBIENT =
  /\b(Date\.now|new Date\(\)|Math\.random|setTimeout|setInterval|setImmediate|randomUUID|randomBytes|performance\.now|process\.hrtime)(?!\w)/;
/** The system world, and the virtual worlds that replace it in tests. */
const MAY_TOUCH_TIME = ["kernel/system-world.ts", "testing/virtual-world.ts", "simulator/scheduler.ts"];
const SQL = /\b(select\s[\s\S]{1,200}?\sfrom\s|insert into\s|delete from\s|update\s+\S+\s+set\s|create table\s)/i;

/**
 * Phrases that make a reader translate, with what to write instead. Comments and texts name the technical noun and use the
 * field's usual verb; the vocabulary is in ARCHITECTURE.
 */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/\b(is|are|was|were|be|been|being) told\b|\btold (of|to)\b/, "emits, reports, notifies, returns"],
  [/\bstand(s|ing)? (in|on|at|there|for|before|behind|beside|as)\b/, "is in, is stored in, is listed in"],
  [/\b(go|goes|going|went|gone) on\b/, "continues, resumes"],
  [/\banew\b/, "again, from the start"],
  [/\bwho(m)?ever\b/, "the node, the caller"],
  [/\b(some|any|every|no)body\b/, "the node, the caller, no node, another process"],
  [/\b(time|lease|claim|run|grace|wait|timeout)s? (is|are|was|were) over\b/, "has expired, has timed out, has ended"],
  [/\bmend(s|ed|ing)?\b/, "fix, repair"],
  [/\bso many\b|\b(for|after|within) so long\b/, "how many, how long, the number itself"],
  [/\bknock(s|ed)?\b|\b(is|was|were|been) rung\b|\bpoke[sd]?\b/, "wake"],
  [/\bfarewell\b/, "grace period"],
  [/\b(bury|buries|buried|doomed|shelf|abreast|deafen|urge)\b/, "the technical noun"],
  [/\bwish(es)?\b/, "request"],
  [/\b(beside|aside)\b/, "next to, in addition to, separate"],
  [/\b(take|takes|taken|taking|took) (it |them |each )?back\b/, "reclaim"],
  [/\bopen(s|ed|ing)? (it |them )?again\b/, "retry"],
  [/\bgive(s|n)? (it |them |(the|its) claim )?back\b/, "release"],
  [/\b(become|becomes|became) of\b/, "happens to"],
];
/** Where a listed phrase is right: the file, and why. */
const WORDED_OTHERWISE: Readonly<Record<string, string>> = {
  "embedded/place.ts": "`nobody` is the name of a Unix account",
};

interface Source {
  readonly name: string;
  readonly text: string;
  /** Without comments. */
  readonly code: string;
  readonly imports: readonly string[];
}

const sources: readonly Source[] = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => {
    const text = readFileSync(join(SRC, name), "utf8");
    const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
    const imports = [...code.matchAll(/(?:from|import)\s+"(\.[^"]+)"/g)].map(([, path]) =>
      relative(SRC, resolve(dirname(join(SRC, name)), path!.replace(/\.js$/, ".ts"))),
    );
    return { name: name.replaceAll("\\", "/"), text, code, imports };
  });

/** The comments of a file, each line joined to the next, and its string literals of more than one word. */
function wordsOf(text: string): readonly string[] {
  const comments = text.match(/\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+|[ \t]\/\/ .*$/gm) ?? [];
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
  const literals = code.match(/"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? [];
  const sentences = literals.filter((literal) => / \w/.test(literal));
  const joined = comments.map((comment) => comment.replace(/\n[ \t]*(\*(?!\/)|\/\/)?/g, " "));
  // What a template computes is code.
  return [...joined, ...sentences.map((literal) => literal.replace(/\$\{[^}]*\}/g, "…"))].map((one) =>
    one.replace(/ +/g, " "),
  );
}

const offenders = (bad: (source: Source) => boolean) => sources.filter(bad).map(({ name }) => name);
const folderOf = (name: string) => (name.includes("/") ? name.split("/")[0]! : "");
const layerOf = (name: string) => LAYERS.findIndex((folders) => folders.includes(folderOf(name)));

describe("the source", () => {
  test("imports point down", () => {
    const wrong = sources.flatMap(({ name, imports }) =>
      imports
        .filter((path) => folderOf(name) !== "" && folderOf(path) !== folderOf(name) && layerOf(path) >= layerOf(name))
        .map((path) => `${name} → ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  test("is in a folder that has a layer", () => {
    expect(offenders(({ name }) => folderOf(name) !== "" && layerOf(name) === -1)).toEqual([]);
  });

  test("has no import cycle", () => {
    const graph = new Map(sources.map(({ name, imports }) => [name, imports]));
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (name: string, path: readonly string[]) => {
      if (path.includes(name)) cycles.push([...path.slice(path.indexOf(name)), name].join(" → "));
      else if (!done.has(name)) for (const next of graph.get(name) ?? []) visit(next, [...path, name]);
      done.add(name);
    };
    for (const { name } of sources) visit(name, []);
    expect(cycles).toEqual([]);
  });

  test("keeps the stores apart", () => {
    const wrong = offenders(
      ({ name, imports }) =>
        (name.startsWith("store/memory/") && imports.some((path) => path.startsWith("store/postgres/"))) ||
        (name.startsWith("store/postgres/") && imports.some((path) => path.startsWith("store/memory/"))),
    );
    expect(wrong).toEqual([]);
  });

  test("has SQL in one folder only", () => {
    expect(offenders(({ name, code }) => !name.startsWith("store/postgres/") && SQL.test(code))).toEqual([]);
  });

  test("takes time, randomness and ids from the world", () => {
    expect(offenders(({ name, code }) => !MAY_TOUCH_TIME.includes(name) && AMBIENT.test(code))).toEqual([]);
  });

  test("throws typed errors only", () => {
    expect(offenders(({ code }) => /throw new (Type|Range|Syntax)?Error\(/.test(code))).toEqual([]);
  });

  test("has unique error codes", () => {
    const codes = sources.flatMap(({ code }) => [...code.matchAll(/readonly code = "(\w+)"/g)].map(([, c]) => c!));
    expect(codes.filter((code, i) => codes.indexOf(code) !== i)).toEqual([]);
    expect(codes.length).toBeGreaterThan(5);
  });

  test("opens every file with a sentence that says what it is", () => {
    expect(offenders(({ text }) => !/^(#!.*\n)?\/\/ \S/.test(text))).toEqual([]);
  });

  test("has no drawers", () => {
    const drawer = /(^|\/)(utils?|types?|helpers?|interfaces?|common|misc|shared|lib)(\/|\.ts$)/;
    expect(offenders(({ name }) => drawer.test(name))).toEqual([]);
  });

  test("lists its public names one by one", () => {
    expect(offenders(({ code }) => /export \* /.test(code))).toEqual([]);
  });

  test("says things in plain words", () => {
    const wrong = sources
      .filter(({ name }) => !WORDED_OTHERWISE[name])
      .flatMap(({ name, text }) =>
        wordsOf(text).flatMap((words) =>
          PLAIN.flatMap(([phrase, instead]) => {
            const found = phrase.exec(words);
            return found ? [`${name}: "${found[0]}" in "${words.trim().slice(0, 80)}"; write ${instead}`] : [];
          }),
        ),
      );
    expect(wrong).toEqual([]);
  });

  test("plays no tricks on the formatter", () => {
    // A literal spread into a literal packs several fields into a line; `__` names what should be left out by `omit`.
    const trick = /\.\.\.(\{ ?[\w"]|\["\w)|[{,] ?\w+: __+[,} ]|^\s*\/\/\s*[,\]]/m;
    expect(offenders(({ code }) => trick.test(code))).toEqual([]);
  });

  test("is made of small files", () => {
    const lines = sources.map(({ text }) => text.split("\n").length).sort((a, b) => a - b);
    expect(offenders(({ text }) => text.split("\n").length > 400)).toEqual([]);
    expect(lines[lines.length >> 1]).toBeLessThanOrEqual(120);
  });
});

describe("the tests", () => {
  const texts = ["test", "bench", "scripts", "examples", "mutants"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.includes("node_modules"))
      .map((name) => ({ name: `${folder}/${name}`, text: readFileSync(join(ROOT, folder, name), "utf8") })),
  );
  const dialectIn = (some: readonly string[]) =>
    some.flatMap((one) =>
      [...one.replace(/`[^`\n]*`/g, "").matchAll(DIALECT_IN_TESTS)].map(([word]) => `${word}: ${one}`),
    );

  test("have names and comments in plain English", () => {
    const found = texts.flatMap(({ name, text }) =>
      dialectIn([...namesOf(text), ...commentsOf(text)]).map((one) => `${name}: ${one}`),
    );
    expect(found).toEqual([]);
    expect(texts.flatMap(({ text }) => namesOf(text)).length).toBeGreaterThan(1_000);
  });

  test("would be refused with a name or a comment in the dialect", () => {
    const word = "somebody";
    const [name] = namesOf(`test("${word} fires", () => {});`);
    const [comment] = commentsOf(`node.stop(); // by ${word}`);
    expect(dialectIn([name!, comment!])).toEqual([`${word}: ${word} fires`, `${word}: // by ${word}`]);
  });
});

describe("the repository", () => {
  test.each(["package-lock.json", "bench/package-lock.json"])("records no download address in %s", (file) => {
    expect(readFileSync(join(ROOT, file), "utf8")).not.toContain('"resolved": "http');
  });

  test("leaves the peers of the benchmarks to an install of their own", () => {
    const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), "utf8"));
    const [own, lock, bench] = [read("package.json"), read("package-lock.json"), read("bench/package.json")];
    expect(own).not.toHaveProperty("workspaces");
    expect(bench.private).toBe(true);
    for (const name of Object.keys(bench.dependencies))
      expect(lock.packages).not.toHaveProperty([`node_modules/${name}`]);
    expect(Object.values(bench.dependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([]);
  });

  test("has a lock file that agrees with the package, so that an install changes nothing", () => {
    const names = ["dependencies", "devDependencies", "peerDependencies", "peerDependenciesMeta", "engines"];
    const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), "utf8"));
    const [own, lock] = [read("package.json"), read("package-lock.json")];
    const root = lock.packages[""];
    for (const name of [...names, "name", "version", "license"]) expect(root[name], name).toEqual(own[name]);
    // npm writes a command's path without its "./".
    const bin = Object.entries(own.bin as Record<string, string>).map(([name, path]) => [name, path.replace("./", "")]);
    expect(root.bin).toEqual(Object.fromEntries(bin));
    for (const name of Object.keys({ ...own.dependencies, ...own.devDependencies })) {
      expect(lock.packages, `${name} is in the lock file`).toHaveProperty([`node_modules/${name}`]);
    }
  });

  test("needs few packages at run time", () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
    const seen = new Set<string>();
    const visit = (name: string) => {
      if (seen.has(name)) return;
      seen.add(name);
      for (const next of Object.keys(lock.packages[`node_modules/${name}`]?.dependencies ?? {})) visit(next);
    };
    for (const name of Object.keys(dependencies)) visit(name);
    expect(seen.size).toBeLessThan(20);
  });

  test("states the version that the package has", async () => {
    const { PACKAGE_VERSION } = await import("../src/kernel/package-version.js");
    expect(PACKAGE_VERSION).toBe(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version);
  });
});

test("installing the package brings fewer than 20, itself included", () => {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; peer?: boolean }>;
  };
  const installed = Object.entries(lock.packages).filter(
    ([, { dev, devOptional, peer }]) => !dev && !devOptional && !peer,
  );
  expect(installed.length).toBeLessThan(20);
});

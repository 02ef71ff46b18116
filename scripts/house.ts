// `npm run house [-- --json]`: counts how the source reads, parsed, and compares it with the limits in CONTRIBUTING.md.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseAst } from "vitest/node";

const ROOT = resolve(import.meta.dirname, "..");
const SRC = join(ROOT, "src");
const json = process.argv.includes("--json");
/** Tools for tests, which a program that runs in production never loads. */
const TOOLS = ["simulator/", "testing/"];
/** Where the path of a run is described: its files, in order. */
const PATH_HEADING = "## The path of one run";

const LIMITS = {
  pathFiles: 12,
  pathLines: 2_600,
  cycles: 0,
  longFunctions: 0,
  manyParameters: 0,
  largestFile: 400,
  largestFolder: 30,
  doorValues: 50,
  contractFile: 150,
};

interface Source {
  /** Below src. */
  readonly name: string;
  readonly text: string;
  readonly lines: number;
  readonly tree: Tree;
}

/** A node of the syntax tree (ESTree): its type, where it is, and fields that differ by type. */
interface Tree {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const sources: readonly Source[] = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .sort()
  .map((name) => {
    const text = readFileSync(join(SRC, name), "utf8");
    const tree = parseAst(text, { lang: "ts" }) as unknown as Tree;
    return { name, text, lines: linesOf(text), tree };
  });

function linesOf(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function childrenOf(node: Tree): Tree[] {
  const isTree = (value: unknown): value is Tree => typeof (value as Tree | null)?.type === "string";
  return Object.values(node).flat().filter(isTree);
}

function importsOf({ name, tree }: Source): string[] {
  return childrenOf(tree)
    .map(({ source }) => (source as { readonly value: string } | null | undefined)?.value ?? "")
    .filter((path) => path.startsWith("."))
    .map((path) => relative(SRC, resolve(dirname(join(SRC, name)), path.replace(/\.js$/, ".ts"))));
}

/** Groups of files that import each other, types included (Tarjan). */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (name: string) => {
    index.set(name, index.size);
    low.set(name, index.get(name)!);
    stack.push(name);
    for (const next of graph.get(name) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(name, Math.min(low.get(name)!, low.get(next)!));
    }
    if (low.get(name) !== index.get(name)) return;
    const group = stack.splice(stack.indexOf(name));
    if (group.length > 1) cycles.push(group);
  };
  for (const name of graph.keys()) if (!index.has(name)) visit(name);
  return cycles;
}

interface FunctionSize {
  readonly place: string;
  readonly lines: number;
  readonly parameters: number;
}

/** Physical lines of each function, without those of template literals: SQL text is not code. */
function functionsOf({ name, text, tree }: Source): FunctionSize[] {
  const found: FunctionSize[] = [];
  const breaks = (from: number, to: number) => text.slice(from, to).split("\n").length - 1;
  const textLines = (node: Tree): number =>
    node.type === "TemplateLiteral"
      ? breaks(node.start, node.end)
      : childrenOf(node).reduce((sum, child) => sum + textLines(child), 0);
  const visit = (node: Tree) => {
    if (/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) {
      const lines = breaks(node.start, node.end) + 1 - textLines(node);
      const parameters = (node["params"] as readonly unknown[]).length;
      found.push({ place: `${name}:${breaks(0, node.start) + 1}`, lines, parameters });
    }
    for (const child of childrenOf(node)) visit(child);
  };
  visit(tree);
  return found;
}

function commentLines({ text }: Source): number {
  let inBlock = false;
  return text.split("\n").filter((line) => {
    const trimmed = line.trim();
    const isComment = inBlock || trimmed.startsWith("//") || trimmed.startsWith("/*");
    if (trimmed.startsWith("/*")) inBlock = true;
    if (inBlock && trimmed.includes("*/")) inBlock = false;
    return isComment;
  }).length;
}

/** Names that an entry point exports at run time. */
function valuesOf(door: Source): string[] {
  return childrenOf(door.tree)
    .filter(({ type, exportKind }) => type === "ExportNamedDeclaration" && exportKind !== "type")
    .flatMap(({ specifiers }) => specifiers as readonly Tree[])
    .filter(({ exportKind }) => exportKind !== "type")
    .map(({ exported }) => (exported as { readonly name: string }).name);
}

function foldersOf(): [string, number][] {
  const counts = new Map<string, number>();
  for (const { name } of sources) counts.set(dirname(name), (counts.get(dirname(name)) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

/** The files that ARCHITECTURE.md names in its section on the path of a run. */
function pathOfARun(): string[] {
  const text = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
  const section = text.split(PATH_HEADING)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^\d+\. .*?\(src\/([\w/-]+\.ts)\)/gm)].map(([, name]) => name!);
}

const at = (sorted: readonly number[], part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
const total = (some: readonly Source[]) => some.reduce((sum, { lines }) => sum + lines, 0);
const functions = sources.flatMap(functionsOf);
const longest = functions.filter(({ lines }) => lines > 70);
const wide = functions.filter(({ parameters }) => parameters > 4);
const graph = new Map(sources.map((source) => [source.name, importsOf(source)]));
const bySize = sources.map(({ lines }) => lines).sort((a, b) => a - b);
const largest = sources.reduce((a, b) => (a.lines >= b.lines ? a : b));
const path = pathOfARun();
const onPath = sources.filter(({ name }) => path.includes(name));
const inProduction = sources.filter(({ name }) => !TOOLS.some((folder) => name.startsWith(folder)));
const contract = sources.filter(({ name }) => name.startsWith("store/contract/")).sort((a, b) => b.lines - a.lines);
const [[largestFolder, folderFiles] = ["", 0]] = foldersOf();
const door = valuesOf(sources.find(({ name }) => name === "index.ts")!);
const cycles = cyclesIn(graph);

const figures = {
  files: sources.length,
  lines: total(sources),
  sourceLines: total(inProduction),
  medianFile: at(bySize, 0.5),
  p90File: at(bySize, 0.9),
  largestFile: largest.lines,
  largestFolder: folderFiles,
  functions: functions.length,
  longFunctions: longest.length,
  manyParameters: wide.length,
  cycles: cycles.length,
  commentShare: Number((sources.reduce((sum, source) => sum + commentLines(source), 0) / total(sources)).toFixed(3)),
  doorValues: door.length,
  contractFile: contract[0]?.lines ?? 0,
  pathFiles: path.length,
  pathLines: total(onPath),
};
const places: Partial<Record<keyof typeof figures, readonly string[]>> = {
  largestFile: [largest.name],
  largestFolder: [largestFolder],
  longFunctions: longest.map(({ place, lines }) => `${place} (${lines})`),
  manyParameters: wide.map(({ place, parameters }) => `${place} (${parameters})`),
  cycles: cycles.map((group) => group.join(" ")),
  contractFile: contract.slice(0, 1).map(({ name }) => name),
  pathFiles: path.filter((name) => !graph.has(name)).map((name) => `${name} does not exist`),
};
const over = (Object.keys(LIMITS) as (keyof typeof LIMITS)[]).filter((name) => figures[name] > LIMITS[name]);
const ok = over.length === 0 && path.length > 0 && onPath.length === path.length;
if (json) console.log(JSON.stringify({ ok, figures, limits: LIMITS, over, places }));
else {
  for (const [name, value] of Object.entries(figures)) {
    const limit = LIMITS[name as keyof typeof LIMITS];
    const isOver = limit !== undefined && value > limit;
    console.log(`${isOver ? "✗" : " "} ${name.padEnd(16)} ${value}${limit === undefined ? "" : ` (limit ${limit})`}`);
    if (isOver) for (const place of places[name as keyof typeof figures] ?? []) console.log(`      ${place}`);
  }
  if (path.length === 0) console.log(`✗ ARCHITECTURE.md has no section "${PATH_HEADING}" that names files`);
}
process.exitCode = ok ? 0 : 1;

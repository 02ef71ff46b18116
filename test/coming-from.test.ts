// The pages for people who come from other systems: the names on our side exist, and each statement names a test that is there.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMAND_NAMES } from "../src/cli/commands.js";
import { selects } from "./harness/test-names.js";

const ROOT = join(import.meta.dirname, "..");
const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.startsWith("coming-from-"));
const source = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join(ROOT, "src", name), "utf8").replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, ""))
  .join("\n");
const words = new Set(source.match(/[A-Za-z_$][\w$]*/g));
/** The contexts of programs, handles, nodes, clients and their parts: the types that declare what each has, by their files. */
const OWNERS: Readonly<Record<string, readonly [type: RegExp, ...files: string[]]>> = {
  ctx: [/Context$/, "workflow/context", "graph/node-context", "dag/task-context", "actor/episode-context"],
  run: [/^RunHandle$/, "client/run-handle"],
  node: [/^Node$/, "node/create-node"],
  client: [/^Client$/, "client/create-client"],
  mode: [/^ModeControl$/, "node/mode-control"],
  approvals: [/^Approvals$/, "client/approvals"],
  dead: [/^DeadLetters$/, "client/dead-letters"],
  definitions: [/^Definitions$/, "client/definitions"],
  graphs: [/^GraphRuns$/, "client/graph/graph-runs"],
  leases: [/^LeaseList$/, "client/leases"],
  queues: [/^Queues$/, "client/queues"],
  retention: [/^RetentionVerbs$/, "client/retention"],
  runs: [/^FoundRuns$/, "client/found-runs"],
  schedules: [/^Schedules$/, "client/schedules"],
};
const members = Object.fromEntries(
  Object.entries(OWNERS).map(([owner, [type, ...files]]) => [owner, membersOf(type, files)]),
);
const entries = Object.keys(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).exports);

interface Row {
  readonly line: number;
  /** By the heading of its column. Several columns of one heading are joined. */
  readonly cells: ReadonlyMap<string, string>;
}

function rowsOf(text: string): Row[] {
  const rows: Row[] = [];
  let heads: string[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    if (!line.startsWith("|")) heads = [];
    else if (heads.length === 0) heads = cellsOf(line);
    else if (!/^\|[-|]+$/.test(line)) {
      const cells = new Map<string, string>();
      for (const [n, cell] of cellsOf(line).entries())
        cells.set(heads[n]!, `${cells.get(heads[n]!) ?? ""} ${cell}`.trim());
      rows.push({ line: i + 1, cells });
    }
  }
  return rows;
}

const cellsOf = (line: string) =>
  line
    .slice(1, -1)
    .split("|")
    .map((cell) => cell.trim());

/** What the interfaces and classes of that name declare. */
function membersOf(type: RegExp, files: readonly string[]): ReadonlySet<string> {
  const texts = files.map((file) => readFileSync(join(ROOT, `src/${file}.ts`), "utf8"));
  const declared = texts.flatMap((text) => [...text.matchAll(/(?:interface|class) (\w+).*\{\n([\s\S]*?)\n\}/g)]);
  const bodies = declared.filter(([, name]) => type.test(name!)).map(([, , body]) => body!);
  const names = bodies.flatMap((body) => [...body.matchAll(/^ {2}(?:readonly |async |get |\*)*(\w+)(?=[?:(<=]| =)/gm)]);
  if (names.length === 0) throw new RangeError(`no type ${type} in ${files.join(", ")}`);
  return new Set(names.map(([, name]) => name!));
}

/** `node.dead.retry`: each part belongs to the one before it, or the whole is the name of an event. */
function foreignIn(span: string): readonly string[] {
  return [...span.matchAll(/(?<![\w.])(ctx|run|node|client)((?:\.\w+)+)/g)]
    .filter(([path]) => !source.includes(`"${path}"`))
    .filter(([, owner, rest]) => {
      const parts = [owner!, ...rest!.slice(1).split(".")];
      return parts.slice(1).some((part, i) => members[parts[i]!] && !members[parts[i]!]!.has(part));
    })
    .map(([path]) => path);
}

/** What of a code span is in no source file. */
function unknownIn(span: string): readonly string[] {
  const command = span.match(/^holdfast (\w+)/);
  if (command) return COMMAND_NAMES.includes(command[1]!) ? [] : [span];
  if (span.startsWith("holdfast/")) return entries.includes(`.${span.slice("holdfast".length)}`) ? [] : [span];
  if (/^(examples|test|src)\//.test(span)) return existsSync(join(ROOT, span)) ? [] : [span];
  // Those of work claims are the events of leases under another name.
  if (/^[a-z_]+\.[a-z_]+$/.test(span) && /_/.test(span))
    return source.includes(`"${span.replace(/^work_claim\./, "lease.")}"`) ? [] : [span];
  const texts = [...span.matchAll(/"([^"]*)"/g)].map(([, text]) => text!).filter((text) => !/^\d+\w+$/.test(text));
  const names = span.replace(/"[^"]*"/g, "").match(/[A-Za-z_$][\w$]*/g) ?? [];
  const unknown = names.filter((name) => !words.has(name));
  return [...unknown, ...foreignIn(span), ...texts.filter((text) => !source.includes(`"${text}"`))];
}

const spansOf = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, span]) => span!);

/** `actor/recovery` restart: — a file in test, and a part of the name of a test in it. */
function missingTest(cell: string): string | null {
  const [, path, part] = cell.match(/^`([\w./-]+)` (.+)$/) ?? [];
  if (path === undefined || part === undefined) return `no test: ${cell}`;
  const file = `test/${path}.test.ts`;
  if (!existsSync(join(ROOT, file))) return `no file: ${file}`;
  return selects(file, part) ? null : `${file} has no test with: ${part}`;
}

/** Pages that show a program of another product next to ours, and map its options. */
const products = ["pg-boss", "graphile-worker", "bullmq", "dbos", "temporal", "inngest"];

describe.each(products)("the page of %s", (product) => {
  const text = readFileSync(join(ROOT, `docs/coming-from-${product}.md`), "utf8");

  test("shows their program, ours, and says what is different and missing", () => {
    expect(text).toMatch(/^```typescript$/m);
    expect(text).toContain(`examples/coming-from/${product}.ts`);
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading!);
    expect(headings).toEqual(
      expect.arrayContaining(["The same program", "Moving over", "What behaves differently", "What is missing"]),
    );
  });

  test("has a link for each thing that is here, or says that there is none", () => {
    const mapped = rowsOf(text).filter(({ cells }) => cells.has("default"));
    const bare = mapped.filter(({ cells }) => !/\]\(|\bnone\b|`Promise\.|^runs overlap$/.test(cells.get("here")!));
    expect(bare.map(({ line, cells }) => `${line}: ${cells.get("here")}`)).toEqual([]);
    expect(mapped.length).toBeGreaterThan(30);
  });

  test("is linked where people look for it", () => {
    const page = `coming-from-${product}.md`;
    for (const from of ["docs/README.md", "docs/comparison.md", "llms.txt", "README.md"])
      expect(readFileSync(join(ROOT, from), "utf8"), from).toContain(page);
  });
});

describe.each(pages)("%s", (page) => {
  const rows = rowsOf(readFileSync(join(ROOT, "docs", page), "utf8"));

  test("names on our side what there is", () => {
    const wrong = rows.flatMap(({ line, cells }) =>
      spansOf(cells.get("here") ?? "")
        .flatMap(unknownIn)
        .map((name) => `${line}: ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  test("walks through its source, and names a test for each statement", () => {
    const walked = rows.filter(({ cells }) => cells.has("test"));
    const wrong = walked.flatMap(({ line, cells }) => {
      const problem = missingTest(cells.get("test")!);
      return problem === null ? [] : `${line}: ${problem}`;
    });
    expect(wrong).toEqual([]);
    expect(walked.length).toBeGreaterThan(10);
  });
});

test("a name that nothing has, a command, an event and a test that are not there would be found", () => {
  const spans = ["circuitBreaker: { cancelInFlight }", "holdfast decide", "run.expired_never", "examples/none.ts"];
  expect(spans.flatMap(unknownIn)).toEqual([
    "cancelInFlight",
    "holdfast decide",
    "run.expired_never",
    "examples/none.ts",
  ]);
  expect(unknownIn('once: "while asleep"')).toEqual(["while asleep"]);
  expect(["ctx.retry", "node.dead.pause(id)", "run.emit", "client.runs.start"].flatMap(unknownIn)).toEqual([
    "ctx.retry",
    "node.dead.pause",
    "run.emit",
    "client.runs.start",
  ]);
  expect(["ctx.waitFor", "run.settled", "node.dead.retryAll({ program })"].flatMap(unknownIn)).toEqual([]);
  expect(missingTest("`actor/recovery` restart:")).toBeNull();
  expect(missingTest("`actor/recovery` a test of nothing")).toContain("has no test with");
  expect(missingTest("`actor/none` x")).toContain("no file");
});

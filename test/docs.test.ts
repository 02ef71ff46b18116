// What the documents show is what runs: every TypeScript block is a file in examples/, and every example works.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { COMMAND_NAMES } from "../src/cli/commands.js";
import { runExamples, runSample } from "./harness/run-example.js";

const ROOT = join(import.meta.dirname, "..");
const EXPECTED: Record<string, string> = {
  "actors.ts": [
    "resource-monitor::checkLimits started 91 % used",
    "looked at",
    "[ 'r-7 1: clean up', 'r-7 2: clean up' ]",
    "[ 'stopped after 80 tokens' ]",
  ].join("\n"),
  "admin.ts": ["cancelled", "runs.cancel from waiting: wrong day", "FORBIDDEN"].join("\n"),
  "backfill.ts": [
    "0 extract etl::extract true",
    "1 weekly etl::weekly false",
    "2 report etl::report true",
    "3 of 4 completed",
    "extract failed",
    "weekly upstream_failed extract",
    "report upstream_failed extract",
    "2026-01-02 2026-01-02: 2 rows",
  ].join("\n"),
  "cancel.ts": [
    "book hotel of t-1",
    "book flight of t-1",
    "remind t-1",
    "close t-1",
    "300 cents, late",
    "book hotel of t-2",
    "book flight of t-2",
    "close t-2",
    "cancel flight of t-2",
    "cancel hotel of t-2",
    "RUN_CANCELLED",
  ].join("\n"),
  "claim-and-commit.ts": "accepted lost",
  "definitions.ts": [
    "{ report: 'north-1: 42 degrees (1 of 3)' }",
    "{ report: 'south-1: 42 degrees (1 of 3)' }",
    "actor probe 1 true",
    "dag survey 1 false",
  ].join("\n"),
  "client.ts": ["started existing conflict", "true 2", "2 halfway", "4 completed hello Ann"].join("\n"),
  "encryption.ts": ["shipped for 4242 4242", "Set(2) { 'aes-2026-03', 'aes-2026-04' }", "false"].join("\n"),
  "enqueue-in-your-transaction.ts": "waiting",
  "existing-app.ts": ["Hello acme! 1", "Hello globex! 1"].join("\n"),
  "large-payloads.ts": ["{ of: 3000000, sevens: 3000000 }", "true"].join("\n"),
  "orms.ts": [
    "[ { id: 'o-1', cents: 300 } ]",
    "[",
    "  { id: 'o-1', cents: 300 },",
    "  { id: 'o-2', cents: 400 },",
    "  { id: 'o-3', cents: 500 }",
    "]",
  ].join("\n"),
  "queue-worker.ts": [
    "{ waiting: 0, active: 0, paused: 1, dead_letter: 0 }",
    "order-1 continues: approved, claim epoch 2",
    "completed",
  ].join("\n"),
  "dag.ts": ["2026-01-01: 3 rows, 44 characters", "14 14 16", "extract → lengths, audit → report"].join("\n"),
  "events.ts": [
    "alarm started, index debounced",
    "alarm duplicate, index debounced",
    "index debounced",
    "resource.updated: r-7 at 91 %",
    "indexed at 12 %",
  ].join("\n"),
  "finding.ts": [
    "Ship o-1? { at: 'packing' }",
    "{ at: 'gone' } true",
    "{ customer: 'ann', shipped: true } { n: 1, atLeast: false }",
    "invoice mail order",
  ].join("\n"),
  "flow-control.ts": ["order { waiting: 1 } paused by ann", "charged o-1", "[ 1, 2, 3 ]"].join("\n"),
  "retention.ts": "1 { completed: 2 } 2",
  "routing.ts": [
    "etl::load on cpu-farm, default",
    "heavy_sort on cpu-farm, big",
    "mail on general, default",
    "ml on general, default",
    "ml::prepare on gpu-box, default",
    "ml::train on gpu-box, gpu",
  ].join("\n"),
  "schedules.ts": [
    "report | cron 0 2 * * * (Europe/Berlin) | all | 3",
    "sync | every 1s | last | 3",
    "sync 1",
    "true",
  ].join("\n"),
  "durable-timeouts.ts": [
    "[",
    "  { id: 'order-1', state: 'expired' },",
    "  { id: 'order-2', state: 'paid' }",
    "]",
    "{ fired: 1, skipped: 1, errors: 0 }",
  ].join("\n"),
  "leader.ts": [
    "node-1 leads, epoch 1",
    "node-1 stops its work: resigned",
    "node-2 leads, epoch 2",
    "node-2 stops its work: resigned",
  ].join("\n"),
  "recovery.ts": [
    "{ restarted: 2, failed: 1, skipped: 0 }",
    "{ replayed: 0, skipped: 0 }",
    "[ 'completed', 'completed', 'ORPHANED' ]",
    "[ 'import second', 'report first', 'report second' ]",
  ].join("\n"),
  "two-stacks.ts": [
    "[ 'started', 'duplicate', 'started' ]",
    "[ 'delivered', 'duplicate' ] [ 'r-7: 93 %' ]",
    "[",
    "  'east: asked for by dev-jane, taken by east-1',",
    "  'west: started there'",
    "]",
    "1 deferred",
  ].join("\n"),
  "research-agent.ts": [
    "search leaves",
    "first process: SIGKILL",
    "search pots",
    "waits at write:1 with 2 findings",
    "true An essay, dry: all about leaves, all about pots.",
    "An essay, warm: cups.",
    "search clay",
    "An essay, dry: all about clay.",
    "the same up to plan:1",
  ].join("\n"),
  "agent.ts": [
    "model call 1",
    "lookup o-1",
    "model call 2",
    "Refund 300 cents of o-1? { order: 'o-1', cents: 300 }",
    "first process: SIGKILL",
    "model call 3",
    "{ answer: 'You have your money.', tokens: 600 }",
    "[ { order_id: 'o-1', cents: 300 } ]",
    'data: "I will refund this. "',
    "",
    'data: "You have your money."',
  ].join("\n"),
  "coming-from/bullmq.ts": ["v-1: v-1.720p.mp4, v-1.1080p.mp4", "50 %"].join("\n"),
  "coming-from/dbos.ts": ["reserve o-1", "ship o-1", "paid 300", "/pay/o-1", "true"].join("\n"),
  "coming-from/graphile-worker.ts": ["debounced indexed d-1, version 7", "[ 300, -100, 25 ]"].join("\n"),
  "coming-from/inngest.ts": [
    "Welcome to ann@example.com",
    "active since noon",
    "Welcome to bob@example.com",
    "Still there? to bob@example.com",
    "reminded",
    "win-back completed",
  ].join("\n"),
  "coming-from/pg-boss.ts": [
    "mail to ann@example.com",
    "bob@example.com is refused",
    "1 retried: mail to bob@example.com",
  ].join("\n"),
  "coming-from/temporal.ts": [
    "charge ann for month 1",
    "charge ann for month 2",
    "charge ann for month 3",
    "months: 3",
    "charged 3 times",
  ].join("\n"),
  "conversation.ts": [
    "asks the web",
    "Ann, that was message 1",
    "asks the web",
    "Ann, that was message 2",
    "Ann, that was message 3",
    "6 messages",
    "Ann is remembered",
    "asks the web",
    "paused at answer:1",
    "Ann, that was message 1",
  ].join("\n"),
  "machine.ts": [
    "{ outcome: 'applied', seq: 2, value: 'paid', status: 'active' }",
    "receipt for 300 to ann@example.com (default/order/order-1@2.0)",
    "done expired",
    '1 start {"email":"[redacted]"}',
    '2 after 500ms in pending {"path":"pending","delay":"500","to":["expired"],"of":1}',
  ].join("\n"),
  "order-routes.ts": [
    "201",
    "{ outcome: 'applied', state: 'paying' }",
    "{",
    "  state: 'paid',",
    "  cents: 300,",
    "  receipt: 'receipt for 300',",
    "  problem: '',",
    "  canPay: false",
    "}",
    "201",
    "{ outcome: 'applied', state: 'paying' }",
    "{",
    "  state: 'open',",
    "  cents: 5000,",
    "  receipt: '',",
    "  problem: 'card declined',",
    "  canPay: true",
    "}",
  ].join("\n"),
  "metrics.ts": "true",
  "tracing.ts": "hello",
  "modes.ts": [
    "report of monday",
    "asked by dev-jane, taken by qc-1",
    "{",
    "  nodeMode: 'trigger_only',",
    "  overrides: { report: 'full' },",
    "  drain: null,",
    "  nodeIdentity: 'dev-jane'",
    "}",
    "[ 'dev-jane trigger_only null', 'qc-1 full stay' ]",
  ].join("\n"),
  "claimed-work.ts": ["1 at work", "1 at work", "[ { state: 'done', epoch: 2, attempt: 1 } ]"].join("\n"),
  "hello.ts": "Hello Ann!",
  "hono.ts": ["true", "200", "204", "shipped o-1"].join("\n"),
  "serverless.ts": ["true parked", "[ 'shipped o-1', 'shipped o-2' ]"].join("\n"),
  "lease.ts": "exporting under epoch 1, aborted: false",
};

const documents = [
  "README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith(".md"));

/** `npm run test:ecosystem` executes those that need packages which the root has not. */
const examples = ["examples", "ecosystem/examples"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !file.includes("node_modules"))
    .map((file) => readFileSync(join(ROOT, folder, file), "utf8")),
);

describe("every TypeScript block is an example, word for word", () => {
  for (const name of documents) {
    const blocks = [...readFileSync(join(ROOT, name), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map(
      ([, text]) => text!,
    );
    for (const [i, block] of blocks.entries()) {
      test(`${name}, block ${i + 1}`, () => {
        expect(examples.some((example) => example.includes(block.trim()))).toBe(true);
      });
    }
  }
});

test("the table of errors lists every error code, and no other", () => {
  const source = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.startsWith("simulator"))
    .map((name) => readFileSync(join(ROOT, "src", name), "utf8"))
    .join("\n");
  const codes = [...source.matchAll(/readonly code = "(\w+)"/g)].map(([, code]) => code!).sort();
  const table = readFileSync(join(ROOT, "docs/errors.md"), "utf8");
  expect([...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code!)).toEqual(codes);
});

test("every picture of a page exists and is in the package", () => {
  const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [{ files }] = JSON.parse(packed) as [{ files: { path: string }[] }];
  const pictures = documents.flatMap((name) =>
    [...readFileSync(join(ROOT, name), "utf8").matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path]) =>
      join(name, "..", path!),
    ),
  );
  for (const name of ["partition-timeline", "run-life", "who-holds"]) expect(pictures).toContain(`docs/${name}.svg`);
  for (const picture of pictures) {
    expect(files.map(({ path }) => path)).toContain(picture);
    if (picture.endsWith(".png")) {
      // A screenshot, made by `npm run screenshots`; small, because it is in the package.
      expect(statSync(join(ROOT, picture)).size, picture).toBeLessThan(120_000);
      continue;
    }
    const text = readFileSync(join(ROOT, picture), "utf8");
    // A background of its own makes it legible on a light and on a dark page.
    expect(text, picture).toMatch(
      /^<svg [^>]*viewBox="0 0 (\d+) (\d+)"[\s\S]*?<title[\s\S]*?<rect width="\1" height="\2"/,
    );
  }
});

test("the table of commands lists every command", () => {
  const table = readFileSync(join(ROOT, "docs/cli.md"), "utf8").split("## Which database")[0]!;
  expect(COMMAND_NAMES.filter((name) => !new RegExp(`[|,] \`${name}[ \`]`).test(table))).toEqual([]);
});

test("the README names every page and fits a screen", () => {
  const text = readFileSync(join(ROOT, "README.md"), "utf8");
  const isOfReference = (name: string) => name.startsWith("docs/api/") && name !== "docs/api/README.md";
  const pages = documents.filter((name) => name !== "README.md" && !/^docs\/(internals|api)\//.test(name));
  expect(pages.filter((page) => !text.includes(`](${page})`))).toEqual([]);
  const index = readFileSync(join(ROOT, "docs/README.md"), "utf8");
  const below = documents.filter((name) => name.startsWith("docs/") && name !== "docs/README.md");
  const named = below.filter((page) => !isOfReference(page));
  expect(named.filter((page) => !index.includes(`](${page.replace("docs/", "")})`))).toEqual([]);
  const reference = readFileSync(join(ROOT, "docs/api/README.md"), "utf8");
  const unnamed = below
    .filter(isOfReference)
    .filter((page) => !reference.includes(`](${page.replace("docs/api/", "")})`));
  expect(unnamed).toEqual([]);
  expect(text.split("\n").length).toBeLessThanOrEqual(55);
});

describe("every example works", () => {
  let printed: ReadonlyMap<string, Promise<string>>;
  let demonstration: ReturnType<typeof runSample>;
  beforeAll(() => {
    printed = runExamples(Object.keys(EXPECTED), inject("databaseUrl"));
    demonstration = runSample("--once", "--json");
    demonstration.printed.catch(() => {}); // its test reports it
  });
  for (const [file, output] of Object.entries(EXPECTED)) {
    test(file, async () => {
      expect(await printed.get(file)).toBe(output);
    });
  }

  test("no example is left out", () => {
    const others = [
      "order.ts", // test/workflow/order-example.test.ts runs it
      "shop", // test/scenarios/shop.test.ts runs it
      "table-claims.ts",
      "prove-your-table-claims.test.ts",
      "testing.test.ts",
      "testing-replay.test.ts",
      "testing-simulate.test.ts",
      "testing-node-test.ts", // test/testing/stubs.test.ts runs it
    ];
    const tested = [...Object.keys(EXPECTED), ...others, "prove-your-claims.test.ts", "prove-your-timeouts.test.ts"];
    const files = readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" });
    const left = files.filter((file) => !tested.includes(file) && !tested.includes(file.split("/")[0]!));
    expect(left).toEqual(["coming-from"]);
    expect(tested.filter((file) => !files.includes(file))).toEqual([]);
  });

  test("npm start: one node killed, one frozen, nothing lost or done twice", { timeout: 60_000 }, async () => {
    const stdout = await demonstration.printed;
    const figures = JSON.parse(stdout.split("\n").at(-1)!);
    expect(figures).toMatchObject({ ok: true, runs: 6, doubledSteps: 0, lostRuns: 0 });
    expect(figures.refusedWrites).toBeGreaterThan(0);
    expect(figures.takeoverMs).toBeGreaterThan(0);
  });

  test("npm start: no process of it has the database's password in its arguments", { timeout: 60_000 }, async () => {
    await demonstration.printed;
    const seen = [...demonstration.argumentsSeen];
    expect(seen.filter((line) => line.includes("node-process")).length).toBeGreaterThan(0);
    expect(seen.filter((line) => /postgres(ql)?:\/\/|password/i.test(line))).toEqual([]);
  });
});

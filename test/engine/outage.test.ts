// The database goes away for longer than a lease, under load: the nodes wait for it, and then continue.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Database } from "../../chaos/database.js";
import { createNode, type Node, workflow } from "../../src/index.js";
import { type PostgresStore, postgres } from "../../src/store/postgres/index.js";
import { compiled } from "../harness/compiled.js";

const NODES = ["a", "b", "c"];
const OUTAGE_MS = 20_000;
const BEFORE_MS = 5_000;
const AFTER_MS = 10_000;
/** Windows of this length are compared. */
const WINDOW_MS = 3_000;
/** Three nodes with ten slots each and 200 ms per run: at most 150 runs a second. */
const RUNS = 3_500;

const short = workflow("short", async () => {});
const long = workflow("long", async (_ctx, _ms: number) => {});

interface Told {
  readonly node: string;
  readonly event: string;
  readonly detail?: unknown;
}

let database: Database;
let store: PostgresStore;
let client: Node;
const children: ChildProcess[] = [];
const told: Told[] = [];
const ended: string[] = [];

beforeAll(async () => {
  database = await Database.start();
  store = postgres(database.url);
  await store.migrate();
  client = await createNode({ store, programs: [] });
}, 60_000);

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await client.stop();
  await store.close();
  await database.stop({ keep: false });
});

async function spawn(node: string): Promise<void> {
  const child = fork(compiled(join(import.meta.dirname, "outage.child.ts")), [database.url, node], {
    execArgv: [],
  });
  child.on("message", (message: Omit<Told, "node">) => told.push({ node, ...message }));
  child.on("exit", (code) => ended.push(`${node} ended with ${code}`));
  children.push(child);
  await once(child, "message");
}

const count = (event: string) => told.filter((one) => one.event === event).length;

/** Short runs that ended in a window before or after a moment on the database's clock. */
async function endedBetween(moment: string, fromMs: number, toMs: number): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    `select count(*)::int as n from holdfast.runs where state = 'completed'
     and ended_at >= $1::timestamptz + $2 * interval '1 ms' and ended_at < $1::timestamptz + $3 * interval '1 ms'`,
    [moment, fromMs, toMs],
  );
  return row!.n;
}

const databaseTime = async () => (await database.query<{ at: string }>("select clock_timestamp()::text as at"))[0]!.at;

test("twenty seconds without a database cost only that time", { timeout: 120_000 }, async () => {
  await Promise.all(NODES.map(spawn));
  const longRuns = await Promise.all(NODES.flatMap((_) => [client.start(long, 30_000), client.start(long, 30_000)]));
  await expect.poll(() => count("long begun"), { timeout: 20_000 }).toBe(longRuns.length);
  await Promise.all(Array.from({ length: RUNS }, () => client.start(short)));
  await expect.poll(() => count("settled"), { timeout: 20_000 }).toBeGreaterThan(50);
  await pass(BEFORE_MS);

  const stoppedAt = await databaseTime();
  await database.halt();
  await pass(OUTAGE_MS);
  await database.open();
  const startedAt = await databaseTime();
  const settledBefore = new Map(NODES.map((node) => [node, told.filter((one) => one.node === node).length]));
  await pass(AFTER_MS);

  const before = (await endedBetween(stoppedAt, -BEFORE_MS, 0)) / BEFORE_MS;
  const windows = [];
  for (let from = 0; from <= AFTER_MS - WINDOW_MS; from += 500) {
    windows.push((await endedBetween(startedAt, from, from + WINDOW_MS)) / WINDOW_MS);
  }
  expect(Math.max(...windows) / before, `runs per ms: ${before} before, then ${windows}`).toBeGreaterThanOrEqual(0.9);
  for (const node of NODES) {
    expect(told.filter((one) => one.node === node).length, `${node} continues`).toBeGreaterThan(
      settledBefore.get(node)!,
    );
  }
  for (const run of longRuns) await run.result({ timeout: "30s" });

  const [taken] = await database.query<{ n: number }>("select count(*)::int as n from holdfast.runs where epoch > 1");
  expect(taken!.n, "runs that changed hands").toBe(0);
  expect(told.filter(({ event }) => ["aborted", "lost", "reclaimed", "broken"].includes(event))).toEqual([]);
  expect(ended).toEqual([]);
});

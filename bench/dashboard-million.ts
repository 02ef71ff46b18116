// The admin API and the page over a million ended runs, twenty thousand waiting ones and open questions: times, statements, the keeper.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { chromium } from "playwright-core";
import { dashboard } from "../src/admin/dashboard.js";
import { createNode, workflow } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";
import { buildDashboard } from "../test/dashboard/built.js";
import { CHROMIUM_FLAGS, chromiumPath } from "../test/dashboard/chromium.js";
import { atMost, type Bound } from "./dashboard-bound.js";
import { fillEnded, fillLive, QUESTIONS, WAITING } from "./dashboard-fill.js";
import { tabStatements } from "./dashboard-tabs.js";
import { percentile } from "./measure.js";
import type { PartOptions } from "./parts.js";

const LISTS = [
  "/runs",
  "/runs?state=failed,dead,quarantined",
  "/runs?state=paused",
  "/runs?program=rare",
  "/runs?state=waiting&program=mail",
  "/nodes",
  "/takeovers",
  "/approvals",
  "/approvals?to=warehouse",
  "/dead",
  "/dead/groups",
  "/dead?program=order&code=CARD_DECLINED",
  "/dead?program=order&code=NO_SUCH_CODE",
  "/queues",
  "/limits",
  "/schedules",
  "/triggers",
  "/machines",
  "/timers?state=pending",
  "/leases",
  "/programs",
  "/audit",
  "/figures?range=24h",
];

export async function benchMillion(url: string, options: PartOptions, add: (one: Bound) => void): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 2 }).on("error", () => {});
  const schema = await fillStore(pool, url, options);
  try {
    await measureFull(pool, { url, schema }, options, add);
  } finally {
    await pool.query(`drop schema ${schema} cascade`);
    await pool.end();
  }
}

/** Returns the schema that was filled. */
export async function fillStore(pool: pg.Pool, url: string, { quick, say }: PartOptions): Promise<string> {
  const runs = quick ? 100_000 : 1_000_000;
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const store = postgres(url, { schema });
  try {
    await store.migrate();
    say(`     filling ${runs} ended runs`);
    await fillEnded(pool, schema, runs);
    say(`     filling ${QUESTIONS} questions and ${WAITING} waiting runs`);
    await fillLive(store);
    await pool.query(`vacuum analyze ${schema}.runs, ${schema}.journal, ${schema}.inbox, ${schema}.claim_groups`);
  } finally {
    await store.close();
  }
  return schema;
}

export async function measureFull(
  pool: pg.Pool,
  { url, schema }: { readonly url: string; readonly schema: string },
  { quick, say }: PartOptions,
  add: (one: Bound) => void,
): Promise<void> {
  await count(pool, true);
  const store = postgres(url, { schema });
  const noop = workflow("noop", async () => null);
  const node = await createNode({ store, env: "default", programs: [noop], identity: { id: "bench" } });
  const built = await buildDashboard({ root: process.cwd() });
  const site = dashboard({ store, page: built.folder, envs: ["default"], writesPerMinute: 100_000 });
  try {
    const { url: address } = await site.listen({ port: 0 });
    await times(address, quick ? 40 : 100, say, add);
    await paint(address, add);
    await keeper(pool, { node, noop, seconds: quick ? 25 : 45 }, add);
    await node.stop();
    const tabs = await tabStatements(pool, address);
    add(atMost("no tab: statements in 10 s", tabs.none, 0));
    add(atMost("50 tabs of one page: statements, times those of one tab", tabs.fifty / Math.max(tabs.one, 1), 1.5));
    say(`     one tab ${tabs.one}, fifty tabs ${tabs.fifty} statements in 20 s`);
  } finally {
    await site.close();
    await node.stop();
    await store.close();
    await count(pool, false);
    built.remove();
  }
}

/** For sessions that begin from now on. */
async function count(pool: pg.Pool, counts: boolean): Promise<void> {
  const { rows } = await pool.query<{ name: string }>("select quote_ident(current_database()) as name");
  await pool.query("create extension if not exists pg_stat_statements");
  await pool.query(`alter database ${rows[0]!.name} set pg_stat_statements.track = ${counts ? "top" : "none"}`);
}

async function times(
  address: string,
  calls: number,
  say: PartOptions["say"],
  add: (one: Bound) => void,
): Promise<void> {
  const p95 = async (path: string) => {
    const taken: number[] = [];
    for (let i = -10; i < calls; i++) {
      const startedAt = performance.now();
      const response = await fetch(`${address}api/v1${path}`);
      await response.text();
      if (!response.ok) throw new TypeError(`${path}: ${response.status}`);
      if (i >= 0) taken.push(performance.now() - startedAt);
    }
    return percentile(taken, 0.95);
  };
  let slowest = 0;
  for (const path of LISTS) {
    const ms = await p95(path);
    say(`     ${path}: p95 ${Math.round(ms * 10) / 10} ms`);
    slowest = Math.max(slowest, ms);
  }
  add(atMost(`slowest of ${LISTS.length} list routes, p95 ms`, slowest, 50));
  add(atMost("overview, p95 ms", await p95("/overview"), 30));
}

/** From the beginning of the navigation to the first row, in a browser that has nothing of the page; the median of five. */
async function paint(address: string, add: (one: Bound) => void): Promise<void> {
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: CHROMIUM_FLAGS });
  const taken: number[] = [];
  for (let i = -1; i < 5; i++) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const startedAt = performance.now();
    await page.goto(`${address}runs`);
    await page.locator(".run-row").first().waitFor();
    if (i >= 0) taken.push(performance.now() - startedAt);
    await context.close();
  }
  await browser.close();
  add(atMost("first paint of the runs, ms", percentile(taken, 0.5), 1500));
}

type Bench = Awaited<ReturnType<typeof createNode>>;

/** What the server spends on the figures while 200 runs a second end, as a part of one core. */
async function keeper(
  pool: pg.Pool,
  {
    node,
    noop,
    seconds,
  }: { readonly node: Bench; readonly noop: ReturnType<typeof workflow>; readonly seconds: number },
  add: (one: Bound) => void,
): Promise<void> {
  const spent = async () => {
    const { rows } = await pool.query<{ ms: number }>(
      `select coalesce(sum(total_exec_time), 0)::float8 as ms from pg_stat_statements
       where query ~ 'insert into \\S+\\.(run_figures|queue_figures)'`,
    );
    return rows[0]!.ms;
  };
  const [before, startedAt] = [await spent(), performance.now()];
  while (performance.now() - startedAt < seconds * 1000) {
    await node.startMany(
      noop as never,
      Array.from({ length: 100 }, () => ({ input: null as never })),
    );
    await new Promise((next) => setTimeout(next, 500));
  }
  const ms = (await spent()) - before;
  add(atMost("statistics keeper, % of one core", (ms / (performance.now() - startedAt)) * 100, 0.5));
}

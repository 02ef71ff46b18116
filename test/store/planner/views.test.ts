// The views read a page and not a table: with 50,000 ended runs, 20,000 timers and leases, a thousand open questions and 50,000 decided ones.

import pg from "pg";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import type { RunFilter } from "../../../src/store/contract/run/runs.js";
import { OUR_STATEMENTS } from "../../../src/store/postgres/connection/connections.js";
import { dialect } from "../../../src/store/postgres/connection/dialect.js";
import { openPostgres } from "../../../src/store/postgres/open.js";
import { listTakeovers, openQuestions, outlineJournals } from "../../../src/store/postgres/view/histories.js";
import { listLeases, listTimers } from "../../../src/store/postgres/view/lists.js";
import { getRuns, listLimits } from "../../../src/store/postgres/view/views.js";
import { explain, type PlanMode } from "./planner-explain.js";
import { analyze, fill, HELD, withoutAutovacuum } from "./planner-tables.js";

const SIZE = { ended: 50_000, waiting: 12_000 };
const LEASES = 20_000;
const PAGE = 50;
const schema = `plans_views_${process.pid}`;
let pool: pg.Pool;

beforeAll(async () => {
  pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 3 });
  pool.on("error", () => {});
  const store = openPostgres(inject("databaseUrl"), { schema });
  await store.migrate();
  await store.close();
  await withoutAutovacuum(pool, schema);
  await fill(pool, schema, SIZE);
  await pool.query(`insert into ${schema}.journal (run_id, seq, epoch, kind, name, key, codec, data, at)
    select md5('parked' || n)::uuid, 2, 1, 'approval.begun', 'ship', '1', 'json', '{}', now() from generate_series(1, ${HELD}) n`);
  await pool.query(`update ${schema}.runs set seq = 2, asks = true where state = 'parked'`);
  // Those that were decided are no work for the list of open ones, however many there are.
  await pool.query(`update ${schema}.runs set asks = true where ended_at is not null`);
  await pool.query(`insert into ${schema}.journal (run_id, seq, epoch, kind, name, key, codec, data, at)
    select id, 1000000, 1, 'approval.begun', 'ship', '1', 'json', '{}', now() from ${schema}.runs where ended_at is not null`);
  await pool.query(`insert into ${schema}.journal (run_id, seq, epoch, kind, name, key, codec, data, at)
    select id, 1000001, 1, 'take', 'ship', 'wait:ship:1', 'json', '{}', now() from ${schema}.runs where ended_at is not null`);
  await pool.query(`insert into ${schema}.leases (env, key, state, owner, epoch, attempt, lease_until, acquired_at, finished_at)
    select 'test', 'key-' || n, 'done', 'me', 1, 1, now(), now(), now() from generate_series(1, ${LEASES}) n`);
  await pool.query(`insert into ${schema}.run_limits (run_id, stage, key, kind, max, state, priority, available_at)
    select md5('waiting' || n)::uuid, 1, 'test/slots ' || n % 100, 'slots', 5, case when n % 2 = 0 then 'waits' else 'granted' end, 0, now()
    from generate_series(1, 10000) n`);
}, 60_000);
afterAll(async () => {
  await pool.query(`drop schema if exists ${schema} cascade`);
  await pool.end();
});

/** What the store sends for a page of runs. */
async function sentFor(filter: Omit<RunFilter, "env">): Promise<{ name: string; text: string; values: unknown[] }[]> {
  const store = openPostgres(inject("databaseUrl"), { schema });
  const query = vi.spyOn(pg.Client.prototype, "query");
  try {
    await store.runs.list({ env: "test", ...filter }, { limit: PAGE });
    const asked = query.mock.calls.map(([first]) => first as unknown as string | { text: string; values: unknown[] });
    return asked.flatMap((one) => {
      const name = typeof one === "object" && /^\/\* (\w+) \*\//.exec(one.text)?.[1];
      return name ? { name, ...one } : [];
    });
  } finally {
    query.mockRestore();
    await store.close();
  }
}

/** As the store's connections plan it: the two batches prepared, the pages for their values and in the order of an index. */
async function faults(): Promise<string[]> {
  const client = new pg.Client({ connectionString: inject("databaseUrl") });
  await client.connect();
  const found: string[] = [];
  const judge = async (name: string, text: string, values: readonly unknown[], mode: PlanMode, most: number) => {
    const { whole, work, plan } = await explain(client, text, [...values], mode);
    if (process.env["HOLDFAST_SHOW_PLANS"] === name) console.log(plan);
    const tables = whole.filter((table) => table !== "nodes" && table !== "claim_groups");
    if (tables.length > 0) found.push(`${name}: reads all of ${tables.join(", ")}`);
    if (work > most) found.push(`${name}: ${work} rows pass through its plan`);
  };
  try {
    await client.query(`${OUR_STATEMENTS}; set jit = off`);
    const { rows } = await pool.query<{ id: string }>(
      `select md5('parked' || n)::uuid as id from generate_series(1, 100) n`,
    );
    const ids = rows.map(({ id }) => id);
    const nulls = ids.map(() => null);
    const d = dialect(schema);
    await judge("get_runs", getRuns.text(d), [ids], "force_generic_plan", 6_000);
    const outline = [ids, nulls, nulls, ids.map(() => 1), ids.map(() => true)];
    await judge("outline_journals", outlineJournals.text(d), outline, "force_generic_plan", 6_000);
    await judge("list_limits", listLimits.text(d), ["test/", "test/", 51], "force_generic_plan", 20_000);
    // One key in a hundred begins so.
    for (const { name, text, values } of await sentFor({ keyPrefix: "key-77" }))
      await judge(name, text, values, "force_custom_plan", 2_000);
    await client.query("set enable_sort = off; set enable_bitmapscan = off");
    // Of 20,000 runs with the attribute and 500 that failed, none has both; of all with two attributes, few have the second.
    const { failed, both } = { failed: ["failed"] as const, both: { region: "eu", customer: "ann" } };
    // 5,000 groups, a look into the index for each.
    for (const { name, text, values } of [
      ...(await sentFor({ states: failed, attributes: { region: "eu" } })),
      ...(await sentFor({ attributes: both })),
      ...(await sentFor({ attributes: { region: "eu" }, from: Date.now() })),
    ])
      await judge(name, text, values, "force_custom_plan", name === "size_run_ranges" ? 60_000 : 12_000);
    for (const after of [undefined, "middle"] as const) {
      const page = { env: "test", limit: PAGE };
      const questions = openQuestions.text(d, { ...page, ...(after && { after: `${ids[50]}/2` }) });
      await judge("open_questions", questions.text, questions.values, "force_custom_plan", 3_000);
      const at = `${Date.now() * 1000}/${ids[50]}/1`;
      const takeovers = listTakeovers.text(d, { ...page, ...(after && { after: at }) });
      await judge("list_takeovers", takeovers.text, takeovers.values, "force_custom_plan", 3_000);
      const leases = listLeases.text(d, { ...page, ...(after && { after: "key-5" }) });
      await judge("list_leases", leases.text, leases.values, "force_custom_plan", 1_000);
      // One look into the index for each of 5,000 groups.
      const timers = listTimers.text(d, { ...page, state: "pending" });
      await judge("list_timers", timers.text, timers.values, "force_custom_plan", 20_000);
    }
  } finally {
    await client.end();
  }
  return found;
}

test("views read only their page when nothing was ever analyzed", async () => {
  expect(await faults()).toEqual([]);
}, 60_000);

test("views read only their page with statistics", async () => {
  await analyze(pool, schema);
  expect(await faults()).toEqual([]);
}, 60_000);

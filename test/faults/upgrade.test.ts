// Upgrades: a database that an older schema was filled under is migrated and its work finished; code and schema of neighbouring
// versions next to each other.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { createNode, type Node } from "../../src/index.js";
import { RUN_STATES, type RunState } from "../../src/kernel/run/run-state.js";
import { MIGRATIONS } from "../../src/store/postgres/migrations/index.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { type Filled, writeFilled } from "./upgrade/filled.js";
import { ordered, paid, programs } from "./upgrade/programs.js";

const { url, schema, pool } = testSchema();
const RECORDED = join(import.meta.dirname, "upgrade/recorded");
const NEWEST = MIGRATIONS.at(-1)!.version;
const QUICK = {
  timing: { pollInterval: 20, pollMax: 50, housekeeping: 50, lease: "2s", presenceGrace: "300ms" },
} as const;
const own = programs(() => true);
const opened: { stop(): Promise<unknown> }[] = [];
const places: string[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
  for (const place of places.splice(0)) await pool.query(`drop schema ${place} cascade`);
});

const recorded = readdirSync(RECORDED).map((name) => JSON.parse(readFileSync(join(RECORDED, name), "utf8")) as Filled);

async function place(name: string): Promise<{ readonly store: PostgresStore; readonly at: string }> {
  const at = `${schema}_${name}`;
  places.push(at);
  const store = openPostgres(url, { schema: at });
  opened.push({ stop: () => store.close() });
  return { store, at };
}

async function nodeOn(store: PostgresStore, id: string): Promise<Node> {
  const node = await createNode({ store, programs: own.all, identity: { id }, concurrency: 30, ...QUICK });
  opened.push({ stop: () => node.stop({ grace: 0 }) });
  return node;
}

async function load(at: string, filled: Filled): Promise<void> {
  const client = await pool.connect();
  let failed: Error | undefined;
  try {
    await writeFilled(client, at, filled);
  } catch (error) {
    failed = error as Error;
    throw error;
  } finally {
    client.release(failed);
  }
}

async function statesOf(at: string): Promise<Record<string, number>> {
  const { rows } = await pool.query(`select state, count(*)::int as n from ${at}.runs group by 1 order by 1`);
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
}

/** What people and clients still had to do when the old nodes stopped. */
async function actAsPeople(store: PostgresStore): Promise<void> {
  const client = createClient({ store });
  const runsOf = async (program: string, ...states: RunState[]) => {
    const { runs } = await store.runs.list({ env: "default", program, states }, { limit: 10 });
    return runs.map(({ id }) => client.run(id));
  };
  for (const run of await runsOf("listens", "parked")) await run.signal(paid, { cents: 7 });
  for (const run of await runsOf("asks", "parked")) await run.decide("ship", { choice: "approved", by: "ann" });
  for (const run of await runsOf("walk", "parked")) await run.decide("review", { choice: "yes", by: "ann" });
  for (const run of await runsOf("waits", "paused")) await run.resume({ by: "ann" });
  for (const program of ["fails", "doomed", "skips"]) {
    for (const run of await runsOf(program, "failed", "dead")) await run.retry({ by: "ann" });
  }
  await client.instance(own.orders, "order-1").send({ type: "PAY", cents: 5 });
  await client.emit(ordered, { id: "o-2" });
}

test("every schema before the newest is recorded with work in every state, and so is the first", () => {
  const versions = recorded.map(({ version }) => version);
  expect(versions).toContain(MIGRATIONS[0]!.version);
  const before = MIGRATIONS.map(({ version }) => version).filter((version) => version < NEWEST);
  expect(
    before.filter((version) => !versions.includes(version)),
    "npm run record-schema, before the migration",
  ).toEqual([]);
  for (const { tables } of recorded) {
    expect(new Set(tables["runs"]!.map((row) => row["state"]))).toEqual(new Set(RUN_STATES));
  }
});

for (const filled of recorded) {
  test(`a database filled under version ${filled.version} is migrated, and all its work is finished`, {
    timeout: 60_000,
  }, async () => {
    const { store, at } = await place(`v${filled.version}`);
    await load(at, filled);
    const before = await statesOf(at);
    const done = await pool.query(
      `select run_id, seq, kind, name from ${at}.journal where kind = 'step' order by 1, 2`,
    );
    expect(Object.keys(before).sort()).toEqual([...RUN_STATES].sort());

    expect((await store.migrate()).version).toBe(NEWEST);
    await store.checkSchema();
    expect(await statesOf(at), "migrating changes no state").toEqual(before);
    await nodeOn(store, "new");
    await actAsPeople(store);

    // One was cancelled before; the event and the receipt of the paid order start one more each.
    const all = Object.values(before).reduce((sum, n) => sum + n, 0);
    await expect
      .poll(() => statesOf(at), { timeout: 30_000, interval: 100 })
      .toEqual({ cancelled: before["cancelled"], completed: all + 2 - before["cancelled"]! });
    const after = await pool.query(
      `select j.run_id, j.seq, j.kind, j.name from ${at}.journal j where kind = 'step' order by 1, 2`,
    );
    const rest = new Set(after.rows.map((row) => JSON.stringify(row)));
    const redone = done.rows.filter((row) => !rest.has(JSON.stringify(row)));
    expect(redone, "recorded steps stay as they were").toEqual([]);
    const order = await createClient({ store }).instance(own.orders, "order-1").state();
    expect(order.context).toMatchObject({ paid: 5, notes: 1 });
  });
}

/** What a migration of a release may do to the schema of the release before: it adds. */
const nextMigration = (at: string) => `
  alter table ${at}.runs add column next_a text, add column next_b int not null default 7;
  alter table ${at}.journal add column next_a jsonb;
  alter table ${at}.inbox add column next_a bigint;
  alter table ${at}.nodes add column next_a timestamptz;
  create table ${at}.next_table (run_id uuid primary key, n int);
  create index next_index on ${at}.runs (next_b) where state = 'waiting';
  insert into ${at}.migrations values (${NEWEST + 1}, 'next', clock_timestamp())`;

/** In one transaction, repeated after a deadlock with a node, as `migrate` does it. */
async function applyNext(at: string): Promise<void> {
  try {
    await pool.query(nextMigration(at));
  } catch (error) {
    if ((error as { code?: string }).code !== "40P01") throw error;
    await applyNext(at);
  }
}

test("nodes keep working, and new ones start, while the next version's migration is applied under them", {
  timeout: 60_000,
}, async () => {
  const { store, at } = await place("next");
  await store.migrate();
  await nodeOn(store, "before");
  const client = createClient({ store });
  const start = () => Promise.all(Array.from({ length: 20 }, (_, n) => client.start(own.waits, n)));
  const runs = [...(await start()), await client.start(own.sleeps)];
  const asked = await client.start(own.asks);
  await applyNext(at);
  runs.push(...(await start()));
  await store.checkSchema();
  const other = openPostgres(url, { schema: at });
  opened.push({ stop: () => other.close() });
  await nodeOn(other, "after");
  runs.push(...(await start()));
  for (const run of runs) await run.result({ timeout: "20s" });
  await asked.decide("ship", { choice: "approved", by: "ann" });
  expect(await asked.result({ timeout: "20s" })).toBe("approved");
  expect(await statesOf(at)).toEqual({ completed: runs.length + 1 });
  const { rows } = await pool.query(`select count(*)::int as n from ${at}.runs where failures > 0 or crashes > 0`);
  expect(rows).toEqual([{ n: 0 }]);
});

test("newer code refuses an older schema with the command to run, and the nodes on it are not disturbed", async () => {
  const { store, at } = await place("older");
  await store.migrate();
  const node = await nodeOn(store, "old");
  const run = await node.start(own.sleeps);
  await pool.query(`update ${at}.migrations set version = version - 1`);
  const newer = openPostgres(url, { schema: at });
  opened.push({ stop: () => newer.close() });
  await expect(createNode({ store: newer, programs: own.all })).rejects.toMatchObject({
    code: "SCHEMA_MISSING",
    message: expect.stringContaining("migrate"),
  });
  await expect(newer.checkSchema()).rejects.toMatchObject({ code: "SCHEMA_MISSING" });
  expect(await run.result({ timeout: "20s" })).toBe("woken");
});

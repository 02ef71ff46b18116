// A nearer deadline that another process schedules wakes sweepers by NOTIFY: none of these would fire before the next poll, an
// hour away.

import { createHash } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openPostgres } from "../../src/store/postgres/open.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import { TimeoutSweeper } from "../../src/timeout/sweeper.js";
import { testSchema } from "../harness/database.js";

const { url, schema, pool } = testSchema();
const [here, there] = [openPostgres(url, { schema }), openPostgres(url, { schema })];
const elsewhere = timeoutStore(there, { scope: "order" });
const PENDING = { state: "pending", sequence: 1 } as const;
const sweepers: TimeoutSweeper[] = [];

beforeAll(() => here.migrate());
afterEach(async () => {
  for (const sweeper of sweepers.splice(0)) await sweeper.stop();
});
afterAll(async () => {
  await here.close();
  await there.close();
});

async function sweeping() {
  const fired: { readonly instance: string; readonly lateMs: number }[] = [];
  const sweeper = new TimeoutSweeper({
    store: timeoutStore(here, { scope: "order" }),
    sweepInterval: "1h",
    fire: async ({ instance, deadline }) => {
      const { rows } = await pool.query("select extract(epoch from clock_timestamp())::float8 * 1000 as now");
      fired.push({ instance, lateMs: rows[0].now - deadline });
      return "fired";
    },
  }).start();
  sweepers.push(sweeper);
  // It polls once when it starts, and once when it is woken.
  await expect.poll(() => sweeper.metrics().sweeps, { timeout: 10_000 }).toBeGreaterThanOrEqual(2);
  return { fired, sweeper };
}

const names = (fired: readonly { readonly instance: string }[]) => fired.map(({ instance }) => instance);

/** Connections of this schema, by their last query. */
async function listeners(): Promise<{ pid: number }[]> {
  const channel = createHash("sha1").update(`"${schema}"`).digest("hex").slice(0, 12);
  const text = "select pid from pg_stat_activity where query = $1";
  return (await pool.query(text, [`listen "holdfast:timeouts:${channel}"`])).rows;
}

test("a nearer deadline of another process fires in time, and never early", async () => {
  const { fired } = await sweeping();
  await elsewhere.schedule("far", { ...PENDING, in: "50m" });
  await elsewhere.schedule("near", { ...PENDING, in: 300 });
  await elsewhere.schedule("nearer", { ...PENDING, in: 100 });
  await expect.poll(() => names(fired), { timeout: 10_000 }).toEqual(["nearer", "near"]);
  expect(Math.min(...fired.map(({ lateMs }) => lateMs))).toBeGreaterThanOrEqual(0);
});

test("also when the transaction that schedules it commits after its deadline", async () => {
  const { fired } = await sweeping();
  const client = await pool.connect();
  await client.query("begin");
  await elsewhere.schedule("late", { ...PENDING, in: 20 }, { tx: client });
  await pass(100);
  await client.query("commit");
  client.release();
  await expect.poll(() => names(fired), { timeout: 10_000 }).toEqual(["late"]);
});

test("also after the listening connection was cut: it is opened again, and the sweeper polls first", async () => {
  const { fired } = await sweeping();
  const [mine] = await listeners();
  await pool.query("select pg_terminate_backend($1)", [mine!.pid]);
  // While the listener is disconnected.
  await elsewhere.schedule("unheard", { ...PENDING, in: 50 });
  await expect.poll(() => names(fired), { timeout: 10_000 }).toEqual(["unheard"]);
  await elsewhere.schedule("heard", { ...PENDING, in: 50 });
  await expect.poll(() => names(fired), { timeout: 10_000 }).toEqual(["unheard", "heard"]);
});

test("one that was given up and is retried elsewhere fires at once", async () => {
  const timeout = await elsewhere.schedule("dead", { ...PENDING, in: 0 });
  const answer = await elsewhere.claim(timeout, "n", { claimMs: 60_000 });
  if (answer.outcome === "claimed") await elsewhere.giveUp(answer.claim, "no");
  const { fired } = await sweeping();
  expect(await elsewhere.retry("dead")).toBe(true);
  await expect.poll(() => names(fired), { timeout: 10_000 }).toEqual(["dead"]);
});

test("a sweeper that stopped leaves no connection behind", async () => {
  await sweeping();
  expect(await listeners()).toHaveLength(1);
  await sweepers.pop()!.stop();
  await expect.poll(listeners, { timeout: 10_000 }).toEqual([]);
});

test("without NOTIFY, what this process schedules still wakes its sweepers, also through another timeout store", async () => {
  const silent = openPostgres(url, { schema, notify: false });
  const fired: string[] = [];
  const sweeper = new TimeoutSweeper({
    store: timeoutStore(silent, { scope: "silent" }),
    sweepInterval: "1h",
    fire: async ({ instance }) => {
      fired.push(instance);
      return "fired";
    },
  }).start();
  sweepers.push(sweeper);
  await expect.poll(() => sweeper.metrics().sweeps, { timeout: 10_000 }).toBe(1);
  await timeoutStore(silent, { scope: "silent" }).schedule("here", { ...PENDING, in: 50 });
  await expect.poll(() => fired, { timeout: 10_000 }).toEqual(["here"]);
  await sweeper.stop();
  await silent.close();
});

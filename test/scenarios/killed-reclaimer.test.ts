// A reclaimer is killed at any moment: every run is either still held or waits, and the next reclaim finishes.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Database } from "../../chaos/database.js";
import { type PostgresStore, postgres } from "../../src/store/postgres/index.js";
import { compiled } from "../harness/compiled.js";
import { group, newRuns } from "../store/scene.js";

const RUNS = 2_000;
const PAGE = 25;
const lost = group("lost");
let database: Database;
let store: PostgresStore;
const reclaimers = new Set<ChildProcess>();

beforeAll(async () => {
  database = await Database.start();
  store = postgres(database.url);
  await store.migrate();
}, 60_000);
afterEach(async () => {
  for (const child of reclaimers) child.kill("SIGKILL");
  reclaimers.clear();
});
afterAll(async () => {
  await store.close();
  await database.stop({ keep: false });
});

async function reclaimer(limit: number): Promise<ChildProcess> {
  const child = fork(
    compiled(join(import.meta.dirname, "reclaimer.child.ts")),
    [database.url, "holdfast", String(limit)],
    {
      execArgv: [],
    },
  );
  reclaimers.add(child);
  await once(child, "message");
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  // It exits when its database stops.
  const gone = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
  child.kill("SIGKILL");
  await gone;
  reclaimers.delete(child);
}

/** Claimed by a node that is gone, with expired leases. */
async function loseRuns(count: number): Promise<void> {
  await database.query("truncate holdfast.runs, holdfast.reclaimed_claims");
  await store.runs.insert(newRuns(count, { group: lost, crashLimit: 5 }));
  const groupIds = await store.runs.groupIds([lost]);
  for (let left = count; left > 0; left -= 500) {
    const [owner, token] = [crypto.randomUUID(), crypto.randomUUID()];
    await store.runs.claim({ owner, token, groupIds, limit: 500, leaseMs: 0 });
  }
}

const isFree = "state = 'waiting' and token is null and owner is null and lease_until is null";
const isHeld = "state = 'running' and token is not null and owner is not null and lease_until is not null";

/** How many are free again and how many are still held; a run that is neither would never be found again. */
async function census(): Promise<{ free: number; held: number; neither: number }> {
  const [row] = await database.query<{ free: number; held: number; neither: number }>(
    `select count(*) filter (where ${isFree})::int as free, count(*) filter (where ${isHeld})::int as held,
       count(*) filter (where not (${isFree}) and not (${isHeld}))::int as neither
     from holdfast.runs where epoch = 1 and crashes = 1 and seq = 1`,
  );
  return row!;
}

async function sweepAll(): Promise<void> {
  const swept = new Set<string>();
  for (;;) {
    const reclaimed = await store.runs.reclaimExpired({ env: "test", limit: 500 });
    if (reclaimed.length === 0) return;
    for (const { runId } of reclaimed) {
      expect(swept.has(runId)).toBe(false);
      swept.add(runId);
    }
  }
}

/** Slows a reclaim down at each row, so that a kill hits it inside a statement, between two of them, or between two reclaims. */
async function dawdling(id: string | null, seconds: number): Promise<void> {
  await database.query(`create or replace function holdfast.dawdle() returns trigger language plpgsql as
    $$ begin perform pg_sleep(${seconds}); return new; end $$`);
  const which = id === null ? "" : `old.id = '${id}' and `;
  await database.query(`create trigger zz_dawdle before update on holdfast.runs for each row
    when (${which}new.state = 'waiting') execute function holdfast.dawdle()`);
}

const hurry = () => database.query("drop trigger zz_dawdle on holdfast.runs");

test("four reclaimers race and are killed one after the other: no run is lost between two statements", {
  timeout: 90_000,
}, async () => {
  await loseRuns(RUNS);
  await dawdling(null, 0.001);
  const racing = await Promise.all(Array.from({ length: 4 }, () => reclaimer(PAGE)));
  let swept = 0;
  for (const one of racing) {
    await expect
      .poll(async () => (await census()).free, { timeout: 20_000, interval: 5 })
      .toBeGreaterThanOrEqual(swept + PAGE);
    await killed(one);
    const { free, held, neither } = await census();
    expect({ neither, all: free + held }).toEqual({ neither: 0, all: RUNS });
    expect(held, "something was still to do").toBeGreaterThan(0);
    swept = free;
  }
  await hurry();
  await sweepAll();
  expect(await census()).toEqual({ free: RUNS, held: 0, neither: 0 });
});

/** A reclaim hangs in the middle of its statement: at the row of its last run. */
async function stuckSweep(): Promise<ChildProcess> {
  await loseRuns(100);
  await dawdling(await lastId(), 60);
  const child = await reclaimer(500);
  const asleep = async () => {
    const text = "select pid from pg_stat_activity where wait_event = 'PgSleep'";
    return (await database.query(text)).length;
  };
  await expect.poll(asleep, { timeout: 20_000 }).toBe(1);
  return child;
}

async function lastId(): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    "select id from holdfast.runs order by lease_until desc, id desc limit 1",
  );
  return row!.id;
}

test("a reclaimer killed in the middle of its statement has changed nothing, and another does all of it", {
  timeout: 60_000,
}, async () => {
  const child = await stuckSweep();
  expect(await census()).toEqual({ free: 0, held: 100, neither: 0 });
  expect(await store.runs.reclaimExpired({ env: "test", limit: 500 }), "what another has locked").toEqual([]);
  await killed(child);
  await hurry();
  expect(await census()).toEqual({ free: 0, held: 100, neither: 0 });
  expect(await store.runs.reclaimExpired({ env: "test", limit: 500 })).toHaveLength(100);
  expect(await census()).toEqual({ free: 100, held: 0, neither: 0 });
});

test("when the database crashes in the middle of a reclaim, nothing is half done, and the next one finishes (F18)", {
  timeout: 60_000,
}, async () => {
  const child = await stuckSweep();
  await database.crash();
  await killed(child);
  await database.open();
  await hurry();
  expect(await census()).toEqual({ free: 0, held: 100, neither: 0 });
  await sweepAll();
  expect(await census()).toEqual({ free: 100, held: 0, neither: 0 });
});

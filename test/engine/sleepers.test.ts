// Runs that sleep are rows and nothing else: no memory, no timers, no statements of their own.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { postgres } from "../../src/store/postgres/index.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";

const { url, schema, pool } = testSchema();
const SLEEPING = 10_000;
const WARM_UP = 1_000;
const WATCH_MS = 12_000;

/** How the settings of a new connection begin. */
const SET_UP = "set lock_timeout";

/** What an idle node sends while it is watched, whatever sleeps: each by its own interval, and one more for the edge of the time. */
const times = (everyMs: number) => Math.floor(WATCH_MS / everyMs) + 1;
const MOST: Readonly<Record<string, number>> = {
  // Every second, a fifth off by chance.
  housekeep: times(800),
  // The fallback poll: pauses of 1 s and more, each half as long again as the one before, a quarter off by chance.
  claim_runs: times(1_900),
  next_due: times(1_900),
  retire_subscriptions: times(30_000),
  // The statistics: a turn and, in one of two rounds at most, older figures.
  take_cleanup_turn: 2 * times(10_000),
  count_figures: times(10_000),
  sample_queues: times(10_000),
  join_run_figures: times(10_000),
  join_queue_figures: times(10_000),
  // A connection that is idle for ten seconds is closed; two loops that ask at the same moment open another.
  [SET_UP]: times(10_000),
};

beforeAll(async () => {
  const store = postgres(url, { schema });
  await store.migrate();
  await store.close();
});

test("10,000 sleeping runs cost a node no memory and no statements", { timeout: 120_000 }, async () => {
  const args = [url, schema, WARM_UP, SLEEPING, WATCH_MS].map(String);
  const child = fork(compiled(join(import.meta.dirname, "sleepers.child.ts")), args, {
    execArgv: ["--expose-gc"],
  });
  const [{ grownBytes, active, statements }] = await once(child, "message");
  const { rows } = await pool.query(`select state, count(*)::int as n from ${schema}.runs group by state`);
  expect(rows).toEqual([{ state: "parked", n: SLEEPING + WARM_UP }]);
  expect(active).toBe(0);
  const counts: Record<string, number> = {};
  for (const sent of statements as string[]) {
    const name = sent.startsWith(SET_UP) ? SET_UP : sent.replace(/^hf_[0-9a-f]{6}_/, "");
    counts[name] = (counts[name] ?? 0) + 1;
  }
  expect(counts["housekeep"]).toBeGreaterThan(0);
  for (const [name, count] of Object.entries(counts))
    expect(count, `${count} × ${name}`).toBeLessThanOrEqual(MOST[name] ?? 0);
  // One that was remembered would take kilobytes; this is 100 bytes for each.
  expect(grownBytes).toBeLessThan(SLEEPING * 100);
});

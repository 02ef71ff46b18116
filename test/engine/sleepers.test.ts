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
  // Only a round of housekeeping each second, the fallback poll, every half minute its declarations, and the statistics.
  const names = new Set<string>(statements.map((name: string) => name.replace(/^hf_[0-9a-f]{6}_/, "")));
  expect(names).toContain("housekeep");
  const statistics = ["take_cleanup_turn", "count_figures", "sample_queues", "join_run_figures", "join_queue_figures"];
  const known = ["claim_runs", "next_due", "housekeep", "retire_subscriptions", ...statistics];
  expect(known).toEqual(expect.arrayContaining([...names]));
  expect(statements.length).toBeLessThanOrEqual((2 * WATCH_MS) / 1000);
  // One that was remembered would take kilobytes; this is 100 bytes for each.
  expect(grownBytes).toBeLessThan(SLEEPING * 100);
});

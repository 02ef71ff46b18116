// A long transaction elsewhere keeps the rows of all runs that were claimed since it began.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { claimRuns } from "../../src/store/postgres/claim/claim-runs.js";
import { dialect } from "../../src/store/postgres/connection/dialect.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { newRuns } from "./scene.js";

const RUNS = 2_000;
const schema = `pinned_${process.pid}`;
const group = { env: "test", queue: "q", program: "q", stack: null, version: null };
let store: PostgresStore;
let pool: pg.Pool;

beforeAll(async () => {
  store = openPostgres(inject("databaseUrl"), { schema });
  await store.migrate();
  pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 2 });
});
afterAll(async () => {
  await store.close();
  await pool.query(`drop schema ${schema} cascade`);
  await pool.end();
});

test("a claim of recent runs reads past none of those that were claimed before", async () => {
  const pin = await pool.connect();
  await pin.query("begin isolation level repeatable read");
  await pin.query(`select count(*) from ${schema}.runs`);
  await store.runs.insert(newRuns(RUNS, { group }));
  const groupIds = await store.runs.groupIds([group]);
  const owner = randomUUID();
  const claimed = await store.runs.claim({ owner, token: randomUUID(), groupIds, limit: RUNS, leaseMs: 60_000 });
  expect(claimed).toHaveLength(RUNS);
  /** Pages that a claim touches which finds nothing. */
  const pages = async (recentMs: number | null) => {
    const client = await pool.connect();
    try {
      await client.query("begin");
      const values = [owner, randomUUID(), groupIds, 10, 60_000, null, ["v1", owner], recentMs];
      const { rows } = await client.query(
        `explain (analyze, buffers, format json) ${claimRuns.text(dialect(schema))}`,
        values,
      );
      return rows[0]["QUERY PLAN"][0].Plan["Shared Hit Blocks"] as number;
    } finally {
      await client.query("rollback");
      client.release();
    }
  };
  const [all, recent] = [await pages(null), await pages(0)];
  pin.release(true);
  expect(recent).toBeLessThan(all / 5);
});

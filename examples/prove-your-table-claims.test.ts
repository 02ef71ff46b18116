// Proves an adapter of your own: every case gets an empty table, and a clock that it may move.
import { claimsConformance } from "holdfast/testing";
import pg from "pg";
import { afterAll, beforeAll, inject, test } from "vitest";
import { tableClaims, tableSql } from "./table-claims.js";

const pool = new pg.Pool({ connectionString: inject("databaseUrl"), options: "-c search_path=prove_claims" });

beforeAll(async () => {
  await pool.query("drop schema if exists prove_claims cascade; create schema prove_claims");
  await pool.query(`${tableSql}; create table clock as select 0::float8 as ahead_ms`);
});
afterAll(async () => {
  await pool.query("drop schema prove_claims cascade");
  await pool.end();
});

for (const { name, run } of claimsConformance) {
  test(name, async () => {
    await pool.query("truncate work_claims");
    const now = "(clock_timestamp() + (select ahead_ms from clock) * interval '1 millisecond')";
    const advance = async (ms: number) => void (await pool.query("update clock set ahead_ms = ahead_ms + $1", [ms]));
    return run({ claims: tableClaims(pool, now), advance });
  });
}

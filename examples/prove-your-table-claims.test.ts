// Proves an adapter of your own: every case gets an empty table, and a clock that it may move.
import { claimsConformance } from "holdfast/testing";
import pg from "pg";
import { afterAll, beforeAll, inject, test } from "vitest";
import { tableClaims, tableSql } from "./table-claims.js";

// A database of its own: not the one in which the runs are.
const database = `prove_claims_${process.pid}`;
const url = new URL(inject("databaseUrl"));
const server = new pg.Pool({ connectionString: url.href });
url.pathname = `/${database}`;
const pool = new pg.Pool({ connectionString: url.href });
// Dropping the database ends what is left of its connections.
pool.on("error", () => {});

beforeAll(async () => {
  await server.query(`drop database if exists ${database} with (force)`);
  await server.query(`create database ${database}`);
  await pool.query(`${tableSql}; create table clock as select 0::float8 as ahead_ms`);
});
afterAll(async () => {
  await pool.end();
  await server.query(`drop database ${database} with (force)`);
  await server.end();
});

for (const { name, run } of claimsConformance) {
  test(name, async () => {
    await pool.query("truncate work_claims");
    const now = "(clock_timestamp() + (select ahead_ms from clock) * interval '1 millisecond')";
    const advance = async (ms: number) => void (await pool.query("update clock set ahead_ms = ahead_ms + $1", [ms]));
    return run({ claims: tableClaims(pool, now), advance });
  });
}

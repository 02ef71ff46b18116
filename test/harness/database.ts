// A schema of its own for each test file: dropped when all tests pass, kept for inspection when one fails.

import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";

export interface TestSchema {
  /** Of the server; it names no schema, so unqualified SQL does not land in `schema`. */
  readonly url: string;
  /** Created before the first test: `t_<file>_<random>`. */
  readonly schema: string;
  readonly pool: pg.Pool;
}

/** Call it once at the top of a test file (or of a describe). */
export function testSchema(): TestSchema {
  const url = inject("databaseUrl");
  const file = basename(expect.getState().testPath ?? "test").replace(/\.test\.ts$/, "");
  const name = file
    .replace(/[^a-z0-9]+/gi, "_")
    .toLowerCase()
    .slice(0, 40);
  const schema = `t_${name}_${randomBytes(4).toString("hex")}`;
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  pool.on("error", () => {});

  let failed = false;
  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${schema}`);
  });
  afterEach(({ task }) => {
    failed ||= task.result?.state === "fail";
  });
  afterAll(async () => {
    if (failed) console.error(`kept schema ${schema}, a test of ${file} failed`);
    else await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await pool.end();
  });
  return { url, schema, pool };
}

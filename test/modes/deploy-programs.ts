// The programs of the deployment tests: three steps each, which write down that they began and that they ended.

import type pg from "pg";
import type { Recovery } from "../../src/kernel/recovery.js";
import { workflow } from "../../src/workflow/workflow.js";

export const POLICIES = ["resume", "restart", "fail"] as const;
export const STEP_MS = 40;

export const tableSql = (schema: string) =>
  `create table if not exists ${schema}.done (run text, step text, by text, at timestamptz default clock_timestamp())`;

function stepwise(pool: pg.Pool, schema: string, by: string, recovery: Recovery) {
  return workflow(`order-${recovery}`, { recovery }, async (ctx, run: string) => {
    for (const step of ["one", "two", "three"]) {
      await ctx.step(step, async () => {
        await new Promise((resolve) => setTimeout(resolve, STEP_MS));
        await pool.query(`insert into ${schema}.done (run, step, by) values ($1, $2, $3)`, [run, step, by]);
      });
    }
    return by;
  });
}

export function deployed(pool: pg.Pool, schema: string, by: string) {
  return POLICIES.map((recovery) => stepwise(pool, schema, by, recovery));
}

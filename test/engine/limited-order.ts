// A workflow with a limit of two per customer that records every attempt with the database's own clock.

import type pg from "pg";
import { workflow } from "../../src/workflow/workflow.js";

export const PER_CUSTOMER = 2;

export interface LimitedInput {
  readonly customer: string;
  readonly hang?: boolean;
}

export function limitedOrder(pool: pg.Pool, schema: string, by: string) {
  return workflow(
    "limited-order",
    { concurrency: { key: "customer", limit: PER_CUSTOMER } },
    async (ctx, { customer, hang = false }: { customer: string; hang?: boolean }) => {
      await ctx.step("work", async ({ attempt }) => {
        const { rows } = await pool.query(
          `insert into ${schema}.work (customer, run, by, began) values ($1, $2, $3, clock_timestamp()) returning id`,
          [customer, ctx.runId, by],
        );
        // Only the process that is to be killed hangs.
        if (hang && by === "victim") await new Promise<never>(() => {});
        await new Promise((resolve) => setTimeout(resolve, 5));
        await pool.query(`update ${schema}.work set ended = clock_timestamp() where id = $1`, [rows[0].id]);
        return attempt;
      });
    },
  );
}

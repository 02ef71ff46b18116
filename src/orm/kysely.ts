// Kysely: its transaction for `{ tx }`, and the transaction of a step as the pool of a Kysely dialect.

import type pg from "pg";
import { InvalidInput } from "../kernel/error.js";
import type { StepTransactionClient, Transaction } from "../store/contract/transaction.js";
import { StepPool } from "./step-pool.js";

/** What `db.transaction().execute(async (trx) => …)` passes. */
export interface KyselyTransaction {
  /** Set on a transaction only. */
  readonly isTransaction: true;
  /** The same transaction without plugins of the application. */
  withoutPlugins(): { executeQuery(query: never): Promise<{ readonly rows: readonly unknown[] }> };
}

/**
 * `start(…, { tx: fromKysely(trx) })`: the run exists when the transaction commits.
 *
 * @example
 * ```ts
 * const second = await kysely.transaction().execute(async (trx) => {
 *   await trx.insertInto("orders").values({ id: "o-2" }).execute();
 *   return node.start(ship, "o-2", { tx: fromKysely(trx) });
 * });
 * ```
 */
export function fromKysely(trx: KyselyTransaction): Transaction {
  if (trx?.isTransaction !== true) {
    throw new InvalidInput("fromKysely", "takes the `trx` of db.transaction().execute(async (trx) => …)");
  }
  // A plugin, such as the one for camel case, would rename the columns of the rows.
  const plain = trx.withoutPlugins();
  return {
    query: (sql, parameters) => {
      const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
      return plain.executeQuery({ sql, parameters, query, queryId: { queryId: "holdfast" } } as never);
    },
  };
}

/**
 * In `ctx.transaction`: `new PostgresDialect({ pool: kyselyPool(tx) })` writes in the transaction of the step.
 *
 * @example
 * ```ts
 * const priceByKysely = (tx: StepTransactionClient, id: string) => {
 *   const inStep = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: kyselyPool(tx) }) });
 *   return inStep.updateTable("orders").set({ cents: 400 }).where("id", "=", id).execute();
 * };
 * ```
 */
export function kyselyPool(tx: StepTransactionClient): pg.Pool {
  return new StepPool(tx) as unknown as pg.Pool;
}

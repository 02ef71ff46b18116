// Drizzle: its transaction for `{ tx }`, and the transaction of a step as the client of a Drizzle database.

import type pg from "pg";
import { InvalidInput } from "../kernel/error.js";
import type { StepTransactionClient, Transaction } from "../store/contract/transaction.js";
import { StepPool } from "./step-pool.js";

/** What `db.transaction(async (tx) => …)` passes, for every driver of Drizzle that speaks to PostgreSQL. */
export interface DrizzleTransaction {
  /** How Drizzle reaches its connection. */
  readonly _: {
    readonly session: {
      prepareQuery(
        query: { sql: string; params: unknown[] },
        fields: undefined,
        name: undefined,
        isResponseInArrayMode: boolean,
      ): { execute(): Promise<unknown> };
    };
  };
  /** Only a transaction has it, not a database. */
  rollback(): never;
}

/**
 * `start(…, { tx: fromDrizzle(tx) })`: the run exists when the transaction commits.
 *
 * @example
 * ```ts
 * const run = await db.transaction(async (tx) => {
 *   await tx.insert(orders).values({ id: "o-1" });
 *   return node.start(ship, "o-1", { tx: fromDrizzle(tx) });
 * });
 * ```
 */
export function fromDrizzle(tx: DrizzleTransaction): Transaction {
  if (typeof tx?.rollback !== "function") {
    throw new InvalidInput("fromDrizzle", "takes the `tx` of db.transaction(async (tx) => …), not the database itself");
  }
  return {
    query: (sql, params) =>
      tx._.session.prepareQuery({ sql, params }, undefined, undefined, false).execute() as ReturnType<
        Transaction["query"]
      >,
  };
}

/** In `ctx.transaction`: `drizzle({ client: drizzleClient(tx), schema })` writes in the transaction of the step. */
export function drizzleClient(tx: StepTransactionClient): pg.Pool {
  return new StepPool(tx) as unknown as pg.Pool;
}

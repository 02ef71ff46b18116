// Knex: its transaction for `{ tx }`, and a Knex that writes in the transaction of a step.

import { InvalidInput } from "../kernel/error.js";
import type { StepTransactionClient, Transaction } from "../store/contract/transaction.js";
import { StepPool } from "./step-pool.js";

/** What `knex.transaction(async (trx) => …)` passes. */
export interface KnexTransaction {
  /** Set on a transaction only. */
  readonly isTransaction?: boolean;
  /** Whether it was committed or rolled back. */
  isCompleted(): boolean;
  /** Its connection, below the query builder. */
  // biome-ignore lint/suspicious/noExplicitAny: as in the types of Knex
  readonly client: any;
}

/**
 * `start(…, { tx: fromKnex(trx) })`: the run exists when the transaction commits.
 *
 * @example
 * ```ts
 * const third = await knex.transaction(async (trx) => {
 *   await trx("orders").insert({ id: "o-3" });
 *   return node.start(ship, "o-3", { tx: fromKnex(trx) });
 * });
 * ```
 */
export function fromKnex(trx: KnexTransaction): Transaction {
  if (trx?.isTransaction !== true) {
    throw new InvalidInput("fromKnex", "takes the `trx` of knex.transaction(async (trx) => …)");
  }
  return {
    // Below `trx.raw`: a postProcessResponse of the application's would rename the columns of the rows.
    query: async (text, bindings) => {
      const connection = await trx.client.acquireConnection();
      const { response } = await trx.client.query(connection, { sql: text.replaceAll("?", "\\?"), bindings });
      return response;
    },
  };
}

/** A Knex as `knex({ client: "pg" })` makes it. */
export interface KnexInstance {
  /** Makes a copy with settings of its own. */
  withUserParams(params: Record<string, unknown>): unknown;
  /** Settings that the application added. */
  readonly userParams?: Record<string, unknown>;
}

/**
 * In `ctx.transaction`: `knexOn(knex, tx)` has the settings of your `knex` and writes in the transaction of the step.
 *
 * @example
 * ```ts
 * const priceByKnex = (tx: StepTransactionClient, id: string) =>
 *   knexOn(knex, tx)("orders").where({ id }).update({ cents: 500 });
 * ```
 */
export function knexOn<Of extends KnexInstance>(knex: Of, tx: StepTransactionClient): Of {
  const copy = knex.withUserParams(knex.userParams ?? {}) as Of & { readonly client: Record<string, unknown> };
  const pool = new StepPool(tx);
  copy.client["acquireConnection"] = () => pool.connect();
  copy.client["releaseConnection"] = async () => {};
  return copy;
}

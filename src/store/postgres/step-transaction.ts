// What the work of a transaction step is given: its statements, as long as it runs; and what became of the connection.

import type pg from "pg";
import { checkStatement, EndedByHand, TransactionEnded } from "../check/transaction.js";
import type { Transaction } from "../contract/transaction.js";
import { faultOf, sqlState } from "./sqlstate.js";

/** The server gave up a statement that took too long, or waited too long for a lock: the work's own doing, not an outage. */
const TOOK_TOO_LONG = new Set(["57014", "55P03"]);
/** The server ended a transaction in which nothing happened. */
const IDLE = "25P03";

export interface StepTransactionOptions {
  readonly client: pg.PoolClient;
  /** On connections of ours the server ends long statements; this side waits a little longer, to hear of it. Null elsewhere. */
  readonly statementMs: number | null;
}

export class StepTransaction implements Transaction {
  readonly #options: StepTransactionOptions;
  #open = true;
  /** What the database said to the last statement that failed. */
  #refusal: unknown = null;
  /** Why the connection broke between two statements. */
  #broken: unknown = null;
  readonly #onError = (error: unknown) => {
    this.#broken ??= error;
  };

  constructor(options: StepTransactionOptions) {
    this.#options = options;
    options.client.on("error", this.#onError);
  }

  /** A property, so that it can be taken off. What fails and is not awaited must not end the process. */
  readonly query: Transaction["query"] = (text, values) => {
    const answer = this.#query(text, values);
    answer.catch(() => {});
    return answer;
  };

  async #query(text: string, values: unknown[]): Promise<pg.QueryResult> {
    if (!this.#open) throw new TransactionEnded();
    checkStatement(text);
    const { client, statementMs } = this.#options;
    try {
      if (statementMs === null) return await client.query(text, values);
      return await client.query({ text, values, query_timeout: 1.5 * statementMs } as pg.QueryConfig);
    } catch (error) {
      this.#refusal = error;
      throw error;
    }
  }

  /** Nobody may use it any more: the next who borrows the connection has a transaction of their own. */
  close(): void {
    this.#open = false;
  }

  /** Several statements in one text can hide a COMMIT. Older drivers cannot tell. */
  expectOpen(): void {
    if (this.#options.client.getTransactionStatus?.() === "I") throw new EndedByHand();
  }

  /** Listens no more. */
  leave(): void {
    this.#options.client.removeListener("error", this.#onError);
  }

  get wasIdle(): boolean {
    return sqlState(this.#broken) === IDLE;
  }

  /** Whether the database was away, or gave way to a deadlock, while the work ran: nothing the work itself did wrong. */
  get wasInterrupted(): boolean {
    if (this.#refusal === null || faultOf(this.#refusal) !== "transient") return false;
    if (TOOK_TOO_LONG.has(sqlState(this.#refusal) ?? "")) return false;
    // Where the server sets no limit, a long statement and a dead wire look the same; the step's retries bound both.
    return this.#options.statementMs !== null || !String(this.#refusal).includes("Query read timeout");
  }
}

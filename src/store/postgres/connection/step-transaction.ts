// The transaction that a user's step is given: its statements run one at a time while the step runs, and the end of the connection is noticed.

import type pg from "pg";
import { checkStatement, EndedByHand, SeveralStatements, TransactionEnded } from "../../check/transaction.js";
import type { StepTransactionClient, TransactionQuery, TransactionResult } from "../../contract/transaction.js";
import { faultOf, isServerState, sqlState } from "./sqlstate.js";

/**
 * Errors that a statement of the step may meet and did not cause. It causes the other temporary ones: a limit on its time or its
 * files, a server that it called, a transaction that it made read-only.
 */
const INTERRUPTIONS = new Set(["40001", "40P01", "53000", "53100", "53200", "57P01", "57P02", "57P03", "57P05"]);
/** The server ended a transaction in which nothing happened. */
const IDLE = "25P03";
const INSIDE = "T";

export interface StepTransactionOptions {
  readonly client: pg.PoolClient;
  /** On connections of ours the server ends long statements; this side waits a little longer, for the server's error. Null elsewhere. */
  readonly statementMs: number | null;
}

export class StepTransaction implements StepTransactionClient {
  readonly #options: StepTransactionOptions;
  #open = true;
  #abandoned = false;
  #sending = 0;
  /** Settles with the last statement that was asked for. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Why the transaction is aborted: what the database said to the last statement, when that failed. */
  #refusal: unknown = null;
  /** The transaction is no longer the one that was begun. */
  #escaped = false;
  /** Why the connection broke between two statements. */
  #broken: unknown = null;
  readonly #onError = (error: unknown) => {
    this.#broken ??= error;
  };

  constructor(options: StepTransactionOptions) {
    this.#options = options;
    options.client.on("error", this.#onError);
  }

  /**
   * A property, so that it can be destructured. A failure that is not awaited must not end the process. Each statement waits for
   * the one before: after one that ended the transaction nothing more is sent.
   */
  readonly query = <Row>(
    asked: string | TransactionQuery,
    values?: readonly unknown[],
  ): Promise<TransactionResult<Row>> => {
    if (!this.#open) return Promise.reject(new TransactionEnded());
    const answer = this.#turn.then(() => this.#query(asked, values));
    this.#turn = answer.catch(() => {});
    return answer as Promise<TransactionResult<Row>>;
  };

  async #query(asked: string | TransactionQuery, given: readonly unknown[] | undefined): Promise<pg.QueryResult> {
    if (this.#abandoned) throw new TransactionEnded();
    if (this.#escaped) throw new EndedByHand();
    const { text, values, ...reading } =
      typeof asked === "object" && asked !== null ? statementOf(asked) : { text: asked };
    checkStatement(text);
    const { client, statementMs } = this.#options;
    // By the extended protocol, which takes one statement only, also without values.
    const limit = statementMs === null ? {} : { query_timeout: 1.5 * statementMs };
    const query: object = { text, values: given ?? values ?? [], ...reading, queryMode: "extended", ...limit };
    this.#sending++;
    let result: pg.QueryResult;
    try {
      result = await client.query(query as pg.QueryConfig);
      this.#refusal = null;
    } catch (error) {
      this.#refusal = isSeveral(error) ? new SeveralStatements() : error;
      throw this.#refusal;
    } finally {
      this.#sending--;
    }
    this.#escaped = client.getTransactionStatus() !== INSIDE || result.command === "COMMIT";
    if (this.#escaped) throw new EndedByHand();
    return result;
  }

  /** It can no longer be used: the next user of the connection has another transaction. */
  close(): void {
    this.#open = false;
  }

  /** Waits for statements that were not awaited. Throws when the transaction was aborted, or is another one than it was. */
  async expectWhole(): Promise<void> {
    await this.#turn;
    if (this.#escaped) throw new EndedByHand();
    if (this.#refusal !== null && (this.#broken !== null || isOfTheServer(this.#refusal))) throw this.#refusal;
  }

  /** Statements that were not sent yet are dropped. Returns whether the connection is free for a ROLLBACK. */
  abandon(): boolean {
    this.#abandoned = true;
    return this.#sending === 0 && this.#broken === null && !this.wasInterrupted;
  }

  /** Stops listening. */
  leave(): void {
    this.#options.client.removeListener("error", this.#onError);
  }

  get wasIdle(): boolean {
    return sqlState(this.#broken) === IDLE;
  }

  /** Whether the database was unavailable, or ended a deadlock, while the step ran: not caused by the step itself. */
  get wasInterrupted(): boolean {
    const code = sqlState(this.#refusal);
    if (this.#refusal === null || faultOf(this.#refusal) !== "transient") return false;
    if (isServerState(code) && isRaised(this.#refusal)) return INTERRUPTIONS.has(code);
    // Where the server sets no limit, a long statement and a dead wire look the same; the step's retries bound both.
    return this.#options.statementMs !== null || !String(this.#refusal).includes("Query read timeout");
  }
}

/** Only what reads the answer: another option of the driver's, such as a callback, would break the step's turn. */
function statementOf({ text, values, rowMode, types }: TransactionQuery) {
  return { text, values, ...(rowMode && { rowMode }), ...(types !== undefined && { types }) };
}

/** Refused when it was parsed, whatever the language of the message. */
function isSeveral(error: unknown): boolean {
  return sqlState(error) === "42601" && (error as { routine?: unknown }).routine === "exec_parse_message";
}

/** By the server itself: PgBouncer's own errors name no routine. */
function isRaised(error: unknown): boolean {
  return (error as { routine?: unknown }).routine !== undefined;
}

function isOfTheServer(error: unknown): boolean {
  return error instanceof SeveralStatements || isServerState(sqlState(error));
}

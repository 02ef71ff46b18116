// The transaction of a step in the form of a pool of `pg`, for libraries that take one: every connection of it is the same
// transaction, and a transaction that the library begins on it is a savepoint.

import { InvalidInput } from "../kernel/error.js";
import type { StepTransactionClient, TransactionQuery, TransactionResult } from "../store/contract/transaction.js";

type Result = TransactionResult<unknown>;
type Callback = (error: unknown, result?: Result) => void;

const BEGINS = /^(begin|start transaction)( work| transaction)?\b/i;
const COMMITS = /^(commit|end)( work| transaction)?;?$/i;
const ROLLS_BACK = /^(rollback|abort)( work| transaction)?;?$/i;
const HAS_MODES = /\b(isolation|read|deferrable)\b/i;

/** Savepoints of all connections of one step have different names. */
interface Shared {
  readonly tx: StepTransactionClient;
  savepoints: number;
}

class StepConnection {
  readonly #shared: Shared;
  /** Of the transactions that the library has begun on this connection; the last is the innermost. */
  readonly #begun: string[] = [];

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  /** As `pg` has it: Knex passes a function as the last argument and takes no promise. */
  query(asked: string | TransactionQuery, values?: readonly unknown[] | Callback, callback?: Callback): unknown {
    const given = typeof values === "function" ? undefined : values;
    const answer = this.#send(asked, given);
    const then = typeof values === "function" ? values : callback;
    if (!then) return answer;
    answer.then(
      (result) => then(null, result),
      (error) => then(error),
    );
    return undefined;
  }

  async #send(asked: string | TransactionQuery, values: readonly unknown[] | undefined): Promise<Result> {
    const { tx } = this.#shared;
    const text = (typeof asked === "string" ? asked : asked.text).trim();
    if (BEGINS.test(text)) return this.#begin(text);
    const innermost = this.#begun.at(-1);
    if (innermost === undefined || !(COMMITS.test(text) || ROLLS_BACK.test(text))) return tx.query(asked, values);
    this.#begun.pop();
    if (ROLLS_BACK.test(text)) await tx.query(`rollback to savepoint ${innermost}`);
    return tx.query(`release savepoint ${innermost}`);
  }

  async #begin(text: string): Promise<Result> {
    if (HAS_MODES.test(text)) {
      throw new InvalidInput(
        "transaction",
        "is inside the transaction of a step and cannot have an isolation level or access mode of its own; omit it",
      );
    }
    this.#shared.savepoints++;
    const name = `holdfast_${this.#shared.savepoints}`;
    this.#begun.push(name);
    return this.#shared.tx.query(`savepoint ${name}`);
  }

  release(): void {}
  on(): this {
    return this;
  }
  once(): this {
    return this;
  }
  removeListener(): this {
    return this;
  }
}

/** Drizzle knows a pool by the word in the name of its class. */
export class StepPool extends StepConnection {
  readonly #shared: Shared;
  readonly options = {};

  constructor(tx: StepTransactionClient) {
    const shared = { tx, savepoints: 0 };
    super(shared);
    this.#shared = shared;
  }

  async connect(): Promise<StepConnection> {
    return new StepConnection(this.#shared);
  }

  /** The transaction ends with its step. */
  async end(): Promise<void> {}
}

// A transaction over a link: its calls travel one by one and are kept by the database until the commit that seals it;
// what restarts or fails over meanwhile has forgotten it.

import { isDeepStrictEqual } from "node:util";
import { HoldfastError } from "../kernel/error.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { Commit, CommitAnswer } from "../store/contract/claim/commits.js";
import type { Transaction } from "../store/contract/transaction.js";
import { classify } from "../store/memory/claim/commit.js";
import { memoryTransaction, TransactionConflict } from "../store/memory/table/transaction.js";
import type { OperationName } from "../store/operation.js";
import { StoreUnavailable } from "../store/postgres/connection/errors.js";
import type { Link } from "./link.js";

class NoSql extends HoldfastError {
  readonly code = "NO_SQL";
}

interface Call {
  readonly name: OperationName;
  readonly args: readonly unknown[];
}

/** PostgreSQL makes a second caller wait for the first; here it gets an answer that is wrong by the time it commits, and repeats it. */
const EXCLUSIVE: readonly OperationName[] = ["runs.takeOutput"];

export class RemoteTransaction implements Transaction {
  readonly #calls: Call[] = [];
  readonly #answers: unknown[] = [];
  readonly #link: Link;
  readonly #boot: number;

  constructor(link: Link) {
    this.#link = link;
    this.#boot = link.database.boot;
  }

  async query(): Promise<never> {
    throw new NoSql("The simulator runs no SQL.");
  }

  /** Any operation that takes a transaction, answered as this one sees it. A connection that breaks takes the transaction with it. */
  async call(name: OperationName, args: readonly unknown[]): Promise<unknown> {
    const { store } = this.#link.database;
    const asked = { name, args };
    const answer = await this.#link.once(`${name} in a transaction`, this.#boot, async () => {
      const tx = memoryTransaction(store);
      const all = await this.#replay([...this.#calls, asked], tx);
      tx.rollback();
      return { last: all.at(-1) };
    });
    if (answer === null) throw new StoreUnavailable(name, 0, null);
    this.#calls.push(asked);
    this.#answers.push(answer.last);
    return answer.last;
  }

  /** The fenced append is the last statement; a COMMIT without an answer is asked after, as the PostgreSQL store does. */
  async seal(commit: Commit): Promise<CommitAnswer> {
    const { database } = this.#link;
    const { store, tables } = database;
    const answer = await this.#link.once("runs.transact", this.#boot, async () => {
      const work = async (tx: Transaction) => {
        this.#expectSame(await this.#replay(this.#calls, tx));
        return commit;
      };
      const sealed = await store.runs.transact(work).catch((error: unknown) => {
        if (error instanceof TransactionConflict) return error;
        throw error;
      });
      if (sealed instanceof TransactionConflict) return sealed;
      database.onApplied({ op: "runs.transact", args: [commit, this.#inserted], answer: sealed }, this.#link.name);
      return sealed;
    });
    if (answer instanceof TransactionConflict) throw answer;
    if (answer !== null) return answer;
    const known = await this.#link.call("ask after a commit", async () => classify(tables, commit));
    if (known.outcome === "recorded" || known.outcome === "lost") return known;
    throw new StoreUnavailable("runs.transact", 0, null);
  }

  #expectSame(answers: readonly unknown[]): void {
    const isOvertaken = this.#calls.some(
      ({ name }, i) => EXCLUSIVE.includes(name) && !isDeepStrictEqual(answers[i], this.#answers[i]),
    );
    if (isOvertaken) throw new TransactionConflict("A key");
  }

  get #inserted(): readonly NewRun[] {
    return this.#calls.flatMap(({ name, args }) => (name === "runs.insert" ? (args[0] as readonly NewRun[]) : []));
  }

  async #replay(calls: readonly Call[], tx: Transaction): Promise<unknown[]> {
    const answers: unknown[] = [];
    for (const { name, args } of calls) {
      const [first, options] = args;
      answers.push(await this.#link.database.methodOf(name)(first, { ...(options as object), tx }));
    }
    return answers;
  }
}

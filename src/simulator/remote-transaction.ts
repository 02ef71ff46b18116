// A transaction over a link: its calls travel one by one and are kept by the database until the commit that seals it;
// what restarts or fails over meanwhile has forgotten it.

import { HoldfastError } from "../kernel/error.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { Commit, CommitAnswer } from "../store/contract/claim/commits.js";
import type { Transaction } from "../store/contract/transaction.js";
import { classify } from "../store/memory/claim/commit.js";
import { memoryTransaction } from "../store/memory/table/transaction.js";
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

export class RemoteTransaction implements Transaction {
  readonly #calls: Call[] = [];
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
    return answer.last;
  }

  /** The fenced append is the last statement; a COMMIT without an answer is asked after, as the PostgreSQL store does. */
  async seal(commit: Commit): Promise<CommitAnswer> {
    const { database } = this.#link;
    const { store, tables } = database;
    const answer = await this.#link.once("runs.transact", this.#boot, async () => {
      const sealed = await store.runs.transact(async (tx) => {
        await this.#replay(this.#calls, tx);
        return commit;
      });
      database.onApplied({ op: "runs.transact", args: [commit, this.#inserted], answer: sealed }, this.#link.name);
      return sealed;
    });
    if (answer !== null) return answer;
    const known = await this.#link.call("ask after a commit", async () => classify(tables, commit));
    if (known.outcome === "recorded" || known.outcome === "lost") return known;
    throw new StoreUnavailable("runs.transact", 0, null);
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

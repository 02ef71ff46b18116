// A transaction over a link: its statements travel one by one and are kept by the database until the commit that seals it;
// what restarts or fails over meanwhile has forgotten it.

import { HoldfastError } from "../kernel/error.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { Commit, CommitAnswer, InsertAnswer } from "../store/contract/run/runs.js";
import type { Transaction } from "../store/contract/transaction.js";
import { classify } from "../store/memory/claim/commit.js";
import { memoryTransaction } from "../store/memory/table/transaction.js";
import { StoreUnavailable } from "../store/postgres/connection/errors.js";
import type { Link } from "./link.js";

class NoSql extends HoldfastError {
  readonly code = "NO_SQL";
}

export class RemoteTransaction implements Transaction {
  readonly inserted: NewRun[] = [];
  readonly #link: Link;
  readonly #boot: number;

  constructor(link: Link) {
    this.#link = link;
    this.#boot = link.database.boot;
  }

  async query(): Promise<never> {
    throw new NoSql("The simulator runs no SQL.");
  }

  /** Answered as the transaction sees it. A connection that breaks takes the transaction with it. */
  async insert(runs: readonly NewRun[]): Promise<readonly InsertAnswer[]> {
    const { store } = this.#link.database;
    const answers = await this.#link.once("insert in a transaction", this.#boot, async () => {
      const tx = memoryTransaction(store);
      const all = await store.runs.insert([...this.inserted, ...runs], { tx });
      tx.rollback();
      return all.slice(this.inserted.length);
    });
    if (answers === null) throw new StoreUnavailable("insert", 0, null);
    this.inserted.push(...runs);
    return answers;
  }

  /** The fenced append is the last statement; a COMMIT without an answer is asked after, as the PostgreSQL store does. */
  async seal(commit: Commit): Promise<CommitAnswer> {
    const { database } = this.#link;
    const { store, tables } = database;
    const answer = await this.#link.once("transact", this.#boot, async () => {
      const sealed = await store.runs.transact(async (tx) => {
        await store.runs.insert(this.inserted, { tx });
        return commit;
      });
      database.onApplied({ op: "transact", commit, answer: sealed, inserted: this.inserted }, this.#link.name);
      return sealed;
    });
    if (answer !== null) return answer;
    const known = await this.#link.call("ask after a commit", async () => classify(tables, commit));
    if (known.outcome === "recorded" || known.outcome === "lost") return known;
    throw new StoreUnavailable("transact", 0, null);
  }
}

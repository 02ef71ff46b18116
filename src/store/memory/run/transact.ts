// A step that is a transaction: what it inserted and the entry that says it is done become visible together.

import type { Commit, CommitAnswer } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import { accepts, commit } from "../claim/commit.js";
import type { Tables } from "../table/tables.js";
import { transactionOver } from "../table/transaction.js";

export async function transact(tables: Tables, work: (tx: Transaction) => Promise<Commit>): Promise<CommitAnswer> {
  const tx = transactionOver(tables);
  const sealed = await work(tx).catch((error) => {
    tx.rollback();
    throw error;
  });
  // In one turn with the entry, and first: a conflict must leave nothing behind.
  if (accepts(tables, sealed)) tx.commit();
  else tx.rollback();
  return commit(tables, [sealed])[0]!;
}

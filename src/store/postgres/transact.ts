// A step that is a transaction: the user's own statements and the entry that says it is done, committed together.

import { sleep } from "../../kernel/world.js";
import type { Commit, CommitAnswer } from "../contract/runs.js";
import type { Transaction } from "../contract/transaction.js";
import { sendIn, whyRefused } from "./commit.js";
import type { Database } from "./database.js";
import { StoreUnavailable, TransactionIdle } from "./errors.js";
import { connectionSurvives, faultOf, sqlState } from "./sqlstate.js";
import { StepTransaction } from "./step-transaction.js";

/** The run's row is locked by a renewal or another statement for a moment; the transaction asks again instead of waiting. */
const BUSY_DELAY_MS = 5;

/**
 * The fenced commit is the last statement: with the fence first, one user's transaction of 2 s held up a renewal of 50
 * runs for 2 s. A fault that passes (a broken connection, a deadlock) is StoreUnavailable: nothing was written, try again.
 * What is the work's own is thrown as it is.
 */
export async function transact(db: Database, work: (tx: Transaction) => Promise<Commit>): Promise<CommitAnswer> {
  let sent: Commit | null = null;
  let interrupted = false;
  const startedAt = db.world.monotonicNow();
  const unavailable = (error: unknown) => new StoreUnavailable("transact", db.world.monotonicNow() - startedAt, error);
  try {
    return await db.connections.use("transactions", async (client) => {
      await client.query("begin");
      const tx = new StepTransaction({ client, statementMs: db.connections.statementMs });
      try {
        const commit = await workIn(tx, work);
        const answer = await append(db, commit, client);
        if (answer.outcome !== "accepted") await client.query("rollback");
        else {
          sent = commit;
          await client.query("commit");
        }
        return answer;
      } catch (error) {
        if (tx.wasIdle) throw new WorkFailed(new TransactionIdle());
        interrupted = tx.wasInterrupted;
        if (sent === null && connectionSurvives(error)) await client.query("rollback");
        throw error;
      } finally {
        tx.leave();
      }
    });
  } catch (thrown) {
    const error = thrown instanceof WorkFailed ? thrown.error : thrown;
    const ours = !(thrown instanceof WorkFailed) && faultOf(error) === "transient";
    if (!interrupted && !ours) throw error;
    if (sent === null) throw unavailable(error);
    // COMMIT had no answer: the journal knows.
    const [answer] = await whyRefused(db, [sent]);
    if (answer!.outcome === "recorded" || answer!.outcome === "lost") return answer!;
    throw unavailable(error);
  }
}

/** Not a fault of the database's, whatever it looks like: the work may have called another server that refused. */
class WorkFailed {
  readonly error: unknown;
  /** Of the error inside: whether the connection is still good is read from it. */
  readonly code: unknown;

  constructor(error: unknown) {
    this.error = error;
    this.code = sqlState(error);
  }
}

async function workIn(tx: StepTransaction, work: (tx: Transaction) => Promise<Commit>): Promise<Commit> {
  try {
    const commit = await work(tx);
    tx.expectOpen();
    return commit;
  } catch (error) {
    throw new WorkFailed(error);
  } finally {
    tx.close();
  }
}

async function append(db: Database, commit: Commit, tx: Transaction): Promise<CommitAnswer> {
  for (;;) {
    const answer = await sendIn(db, commit, tx);
    if (answer.outcome !== "busy") return answer;
    await sleep(db.world, BUSY_DELAY_MS);
  }
}

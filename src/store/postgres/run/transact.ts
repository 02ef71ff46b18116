// Runs a transaction step: the user's own statements and the journal entry of the step are committed together.

import type pg from "pg";
import { sleep } from "../../../kernel/world.js";
import { MadeReadOnly } from "../../check/transaction.js";
import type { Commit, CommitAnswer } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import { sendIn } from "../claim/commit.js";
import { whyRefused } from "../claim/refused-commits.js";
import type { Database } from "../connection/database.js";
import { ReadOnlyServer, TransactionIdle, TransactionOutdated } from "../connection/errors.js";
import { connectionSurvives, faultOf, isWrongServer, sqlState } from "../connection/sqlstate.js";
import { StepTransaction } from "../connection/step-transaction.js";

/** The run's row is locked by a renewal or another statement for a moment; the transaction asks again instead of waiting. */
const BUSY_DELAY_MS = 5;

const SERIALIZATION = "40001";

/** SHOW takes no snapshot: the work may still choose its isolation level. */
const BEGIN = "begin isolation level read committed; show transaction_read_only";

/**
 * The fenced commit is the last statement: with the fence first, one user's transaction of 2 s held up a renewal of 50
 * runs for 2 s. An error of the store or its connection (a broken connection, a deadlock, a password) means that nothing
 * was written: try again. An error of the step itself is thrown unchanged.
 */
async function transact(db: Database, work: (tx: Transaction) => Promise<Commit>): Promise<CommitAnswer> {
  let sent: Commit | null = null;
  const startedAt = db.world.monotonicNow();
  const { connections } = db;
  try {
    return await connections.use("transactions", async (client, keep) => {
      await begin(client);
      const tx = new StepTransaction({ client, statementMs: connections.statementMs });
      try {
        const commit = await workIn(tx, work);
        const level = await giveBackSettings(db, client);
        const answer = await append(db, commit, client).catch((error) => {
          throw isOutdated(error, level) ? new WorkFailed(new TransactionOutdated(level, error)) : error;
        });
        if (answer.outcome === "accepted") sent = commit;
        await client.query(sent === null ? "rollback" : "commit");
        keep(connections.cleanSession(client));
        return answer;
      } catch (error) {
        if (tx.wasIdle) throw new WorkFailed(new TransactionIdle());
        if (tx.wasInterrupted) throw new Interrupted(error instanceof WorkFailed ? error.error : error);
        // Its connection is closed, which undoes it, too: but only this way it is known when. Behind a pooler, only what is closed
        // inside its transaction takes its session with it.
        const mayAnswer = !(error instanceof WorkFailed) ? connectionSurvives(error) : tx.abandon();
        if (sent === null && mayAnswer && !connections.pooled) await client.query("rollback").catch(() => {});
        if (error instanceof WorkFailed) throw error;
        if (isWrongServer(error)) connections.giveUpAll(client);
        throw new Broken(error, sent !== null);
      } finally {
        tx.abandon();
        tx.leave();
      }
    });
  } catch (thrown) {
    if (thrown instanceof WorkFailed) throw thrown.error;
    const cause = thrown instanceof Interrupted || thrown instanceof Broken ? thrown.error : thrown;
    // Refused with COMMIT is what the work has put off until then: a constraint, a trigger.
    if (thrown instanceof Broken && thrown.atCommit && faultOf(cause) !== "transient") throw cause;
    const trouble = db.trouble("transact", db.world.monotonicNow() - startedAt, cause);
    if (sent === null) throw trouble;
    // COMMIT had no answer: the journal shows whether it was done.
    const [answer] = await whyRefused(db, [sent]);
    if (answer!.outcome === "recorded" || answer!.outcome === "lost") return answer!;
    throw trouble;
  }
}

/** Not a fault of the database's, whatever it looks like: the work may have called another server that refused. */
class WorkFailed {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** The database was unavailable, or ended a deadlock, while the work ran. */
class Interrupted {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** A statement of ours failed. Without a code, like the others: the connection is closed whatever it was. */
class Broken {
  readonly error: unknown;
  readonly atCommit: boolean;

  constructor(error: unknown, atCommit: boolean) {
    this.error = error;
    this.atCommit = atCommit;
  }
}

async function begin(client: pg.PoolClient): Promise<void> {
  const answers = (await client.query(BEGIN)) as unknown as readonly pg.QueryResult[];
  if (isReadOnly(answers)) throw new ReadOnlyServer();
}

function isReadOnly(answers: readonly pg.QueryResult[]): boolean {
  return answers.at(-1)!.rows[0].transaction_read_only === "on";
}

async function workIn(tx: StepTransaction, work: (tx: Transaction) => Promise<Commit>): Promise<Commit> {
  try {
    const commit = await work(tx);
    tx.close();
    await tx.expectWhole();
    return commit;
  } catch (error) {
    throw new WorkFailed(error);
  } finally {
    tx.close();
  }
}

/** The append is ours again: not with the role, the limits or the search path that the work has set. Answers its isolation level, which stays. */
async function giveBackSettings(db: Database, client: pg.PoolClient): Promise<string> {
  const text = `${db.connections.giveBack(client)}; show transaction_isolation; show transaction_read_only`;
  const answers = (await client.query(text)) as unknown as readonly pg.QueryResult[];
  if (isReadOnly(answers)) throw new WorkFailed(new MadeReadOnly());
  return answers.at(-2)!.rows[0].transaction_isolation;
}

/**
 * The run's row is not the one that the work's snapshot has. Repeated as trouble of the store, a step that takes longer than a renewal
 * interval would be done again for ever. Dependencies between serializable transactions are others' doing, and pass.
 */
function isOutdated(error: unknown, level: string): boolean {
  const { routine } = error as { routine?: unknown };
  return level !== "read committed" && sqlState(error) === SERIALIZATION && !/serializ/i.test(String(routine));
}

async function append(db: Database, commit: Commit, tx: Transaction): Promise<CommitAnswer> {
  for (;;) {
    const answer = await sendIn(db, commit, tx);
    if (answer.outcome !== "busy") return answer;
    await sleep(db.world, BUSY_DELAY_MS);
  }
}

export const transactions = { transact };

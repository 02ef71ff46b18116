// The SQL of transaction steps in a test: a stub that answers statements, or a real database that commits with the step.

import { PermanentError } from "../../replay/step-error.js";
import type { Transaction } from "../../store/contract/transaction.js";
import type { Life } from "./life.js";
import type { SqlOf } from "./life-store.js";

/** A connection pool, for example `new pg.Pool(…)` on an embedded server. */
export interface TestPool {
  /** Opens a connection. */
  connect(): Promise<TestConnection>;
}

/** A connection of your own pool. */
export interface TestConnection extends Transaction {
  /** Returns the connection to its pool. */
  release(broken?: boolean): void;
}

/** A stub for `tx.query`, or a pool whose transactions commit together with their steps. */
export type TestDatabase = Transaction["query"] | TestPool;

/** A transaction step sent SQL, and the test has not said what answers it. */
export class TestDatabaseMissing extends PermanentError {
  override readonly code = "TEST_DATABASE_MISSING";

  constructor(text: string) {
    const sent = JSON.stringify(text.slice(0, 80));
    super(`A transaction sent ${sent}. Pass testNode({ database }): a function that answers statements, or a pg.Pool.`);
  }
}

/** `working`: tells the driver that something real is under way, so that time does not skip past it. */
export function sqlOf(database: TestDatabase | undefined, working: <T>(work: Promise<T>) => Promise<T>): SqlOf {
  if (typeof database === "object") return (life, transact) => onConnection(database, life, transact, working);
  const missing = async (text: string) => {
    throw new TestDatabaseMissing(text);
  };
  return (life, transact) => transact(answeredTo(life, database ?? missing));
}

/** A killed process gets no answer. */
function answeredTo(life: Life, query: Transaction["query"]): Transaction["query"] {
  return async (text, values) => {
    await life.thawed();
    const rows = await query(text, values);
    await life.thawed();
    return rows;
  };
}

async function onConnection(
  pool: TestPool,
  life: Life,
  transact: Parameters<SqlOf>[1],
  working: <T>(work: Promise<T>) => Promise<T>,
): ReturnType<SqlOf> {
  const connection = await working(pool.connect());
  let isOpen = true;
  const end = (broken = false) => {
    if (isOpen) connection.release(broken);
    isOpen = false;
    forget();
  };
  // The connection of a killed process ends, and with it the transaction.
  const forget = life.onKilled(() => end(true));
  const send = (text: string, values: unknown[] = []) => working(connection.query(text, values));
  try {
    await send("begin");
    // A constraint that is checked late fails here, while the step can still fail, and not at the commit.
    const answer = await transact(answeredTo(life, send), () => send("set constraints all immediate"));
    await send(answer.outcome === "accepted" || answer.outcome === "recorded" ? "commit" : "rollback");
    return answer;
  } catch (error) {
    if (isOpen) await send("rollback").catch(() => end(true));
    throw error;
  } finally {
    end();
  }
}

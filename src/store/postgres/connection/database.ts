// Runs statements: prepared where possible, with a time limit on this side, repeated while the fault is passing. Every
// statement of the store may be repeated after an unanswered COMMIT.

import { createHash } from "node:crypto";
import type pg from "pg";
import { HoldfastError } from "../../../kernel/error.js";
import { Wakeups } from "../../../kernel/wakeups.js";
import { sleep, type World } from "../../../kernel/world.js";
import { auditedCall } from "../../audited-call.js";
import type { SkippedRun } from "../../contract/node/attend.js";
import type { Transaction } from "../../contract/transaction.js";
import { auditedStatement, auditValues, isWriting } from "../audit/audited-statement.js";
import { literals } from "./array-literal.js";
import { OUR_TYPES } from "./column-types.js";
import {
  AS_THE_SERVER_LIKES,
  type ConnectionOptions,
  Connections,
  FOR_ITS_VALUES,
  IN_INDEX_ORDER,
  type Line,
} from "./connections.js";
import type { Dialect, Query, QueryText, Statement } from "./dialect.js";
import { ConnectRefused, DataRefused, SchemaMissing, StoreFailed, StoreRefused, StoreUnavailable } from "./errors.js";
import { queryPrepared } from "./prepared-query.js";
import { connectionSurvives, faultOf, sqlState } from "./sqlstate.js";

export interface DatabaseOptions extends ConnectionOptions {
  readonly dialect: Dialect;
  /** How long a failing call is repeated before it fails. */
  readonly retryForMs: number;
  /** Other processes are woken by NOTIFY. @default false */
  readonly notify?: boolean;
  readonly onSkipped?: (db: Database, runs: readonly SkippedRun[], parents: readonly string[]) => Promise<void>;
}

/** What statements report to the rest of the store. */
export interface StoreTopics {
  readonly work: readonly [groupIds: readonly number[], inMs: readonly number[]];
  readonly called: readonly [runIds: readonly string[]];
}

/** A statement whose failure does not matter. */
export interface Behind {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

export interface RunOptions {
  readonly line?: Line;
  readonly tx?: Transaction | undefined;
  /** A shorter time limit than the store's: for results that are worthless when late. */
  readonly timeoutMs?: number;
  /** Not repeated: the caller must know that the connection failed, and tries again on its own. */
  readonly once?: boolean;
  /** Sent right behind it on its connection, before there is an answer: only where `pipelined`. */
  readonly behind?: Behind | null;
}

/** Values, or a function that computes them: called again for every attempt, because a new connection may lead to another server. */
type Values = readonly unknown[] | (() => Promise<readonly unknown[]>);

export class Database {
  readonly dialect: Dialect;
  readonly #options: DatabaseOptions;
  readonly #connections: Connections;
  readonly #texts = new Map<Statement, string>();
  readonly #onNew = new Set<() => void>();
  readonly #background = new Set<Promise<void>>();
  /** Stores on several schemas may share a pool: the same name must not mean two texts. */
  readonly #prefix: string;
  #newConnections = 0;
  readonly wakeups = new Wakeups<StoreTopics>();

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.dialect = options.dialect;
    this.#prefix = `hf_${createHash("sha1").update(JSON.stringify(options.dialect)).digest("hex").slice(0, 6)}_`;
    this.#connections = new Connections(options, () => {
      this.#newConnections++;
      for (const callback of this.#onNew) callback();
    });
  }

  /** Runs of these groups became claimable by something else than an insert, or will in `inMs`. */
  onWork(groupIds: readonly number[], inMs: readonly number[] = []): void {
    this.wakeups.wake("work", groupIds, inMs);
  }

  /** These runs were asked to stop. */
  onCalled(runIds: readonly string[]): void {
    this.wakeups.wake("called", runIds);
  }

  /** Runs that found no place under a limit and could not wait, and their parents. */
  async onSkipped(runs: readonly SkippedRun[], parents: readonly string[]): Promise<void> {
    await this.#options.onSkipped?.(this, runs, parents);
  }

  get notifies(): boolean {
    return this.#options.notify ?? false;
  }

  get pooled(): boolean {
    return this.#connections.pooled;
  }

  /** Whether a statement can follow another on its connection without waiting for the answer. */
  get pipelined(): boolean {
    return this.#connections.pipelined;
  }

  get connections(): Connections {
    return this.#connections;
  }

  get world(): World {
    return this.#options.world;
  }

  /** Called for every new connection: cached facts about the database may no longer be true. */
  onNewConnection(callback: () => void): void {
    this.#onNew.add(callback);
  }

  /** Carries out one statement, repeating it while the fault is passing. Inside an audited change it also writes the audit row. */
  async run<Row>(statement: Statement, values: Values, options: RunOptions = {}): Promise<Row[]> {
    const call = auditedCall();
    if (!call || !isWriting(statement, this.dialect)) return this.#send<Row>(statement, values, options);
    const first = await valuesOf(values);
    const all = async () => [...(await valuesOf(values)), ...auditValues(call.row)];
    const rows = await this.#send<Row>(auditedStatement(statement, first.length), all, options);
    // A transaction may be rolled back and repeated: then the row is written again.
    if (!options.tx) call.written = true;
    return rows;
  }

  async #send<Row>(statement: Statement, values: Values, options: RunOptions): Promise<Row[]> {
    const { line = "main", tx, once = false, behind } = options;
    if (tx) return this.#runIn<Row>(tx, statement, await valuesOf(values));
    const timeoutMs = Math.min(options.timeoutMs ?? Number.POSITIVE_INFINITY, this.#options.queryTimeoutMs);
    return this.repeat(statement.name, once ? 0 : this.#options.retryForMs, async () => {
      for (;;) {
        const known = this.#newConnections;
        const sent = literals(await valuesOf(values));
        const rows = await this.#connections.use(line, async (client, keep) => {
          // The connection is newer than the values: compute them again.
          if (typeof values === "function" && known !== this.#newConnections) return null;
          const query = <R>(of: Statement, values: unknown[]) => this.#query<R>(client, of, values, timeoutMs);
          const answer = query<Row>(statement, sent);
          if (behind) keep(query(behind.statement, literals(behind.values)));
          return answer;
        });
        if (rows) return rows;
      }
    });
  }

  /** In a caller's transaction. A passing fault is thrown as the driver does: the caller may handle it. */
  async #runIn<Row>(tx: Transaction, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      return rowsOf<Row>(await tx.query(this.#text(statement), literals(values)));
    } catch (error) {
      const fault = faultOf(error);
      throw fault === "refused" || fault === "schema" ? this.trouble(statement.name, 0, error) : error;
    }
  }

  async #query<Row>(client: pg.ClientBase, of: Statement, values: unknown[], timeoutMs: number): Promise<Row[]> {
    const text = this.#text(of);
    const name = `${this.#prefix}${of.name}`;
    if (this.pipelined) return queryPrepared<Row>(client, { name, text, values, timeoutMs });
    const query = { ...(this.pooled ? {} : { name }), text, values, query_timeout: timeoutMs, types: OUR_TYPES };
    return (await client.query(query)).rows as Row[];
  }

  /** A text that varies (lists with filters): never prepared, and planned for its values. */
  runQuery<Row, Asked>(query: Query<Asked>, asked: Asked): Promise<Row[]> {
    return this.#runFor(FOR_ITS_VALUES, query.name, query.text(this.dialect, asked));
  }

  /** One that reads a page in the order of an index. */
  runInOrder<Row, Asked>(query: Query<Asked>, asked: Asked): Promise<Row[]> {
    return this.#runFor(IN_INDEX_ORDER, query.name, query.text(this.dialect, asked));
  }

  /** One that may have to read a table in whole: a count. */
  runWhole<Row, Asked>(query: Query<Asked>, asked: Asked): Promise<Row[]> {
    return this.#runFor(AS_THE_SERVER_LIKES, query.name, query.text(this.dialect, asked));
  }

  async #runFor<Row>(settings: string, name: string, { text, values }: QueryText): Promise<Row[]> {
    // The name as a comment: such a text has no other when it is found in the server's statistics.
    const limit = { query_timeout: this.#options.queryTimeoutMs };
    const query = { text: `/* ${name} */ ${text}`, values: [...values], ...limit, types: OUR_TYPES };
    return this.repeat(name, this.#options.retryForMs, () =>
      this.#connections.use("main", async (client) => {
        if (!this.pipelined) return (await client.query(query)).rows as Row[];
        // Sent together: a failure of the second makes the third a rollback.
        const sent = [client.query(`begin; ${settings}`), client.query(query), client.query("commit")];
        return (await Promise.all(sent))[1]!.rows as Row[];
      }),
    );
  }

  /** Several statements on one connection, each by itself. Not repeated. */
  session<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    return this.#connections.use("main", work);
  }

  /** Several statements in one transaction, on one connection. Not repeated. */
  transaction<T>(work: (client: pg.ClientBase) => Promise<T>, line: Line = "main"): Promise<T> {
    return this.#connections.use(line, async (client) => {
      await client.query("begin");
      try {
        const result = await work(client);
        await client.query("commit");
        return result;
      } catch (error) {
        if (connectionSurvives(error)) await client.query("rollback");
        throw error;
      }
    });
  }

  /** The same for statements that may be repeated, on a separate line: one of them may need an additional connection. */
  repeatedly<T>(operation: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.repeat(operation, this.#options.retryForMs, () => this.transaction(work, "transactions"));
  }

  /** Work whose failure costs latency only: only close() waits for it. */
  inBackground(work: () => Promise<void>): void {
    const done: Promise<void> = work()
      .catch(() => {})
      .finally(() => this.#background.delete(done));
    this.#background.add(done);
  }

  async repeat<T>(operation: string, forMs: number, attempt: () => Promise<T>): Promise<T> {
    const { world } = this.#options;
    const startedAt = world.monotonicNow();
    const contact = this.#connections.firstContact;
    const end = contact.begin();
    let sent = false;
    try {
      for (let tries = 1; ; tries++) {
        try {
          return await attempt();
        } catch (error) {
          const spentMs = world.monotonicNow() - startedAt;
          const delayMs = Math.min(20 * 2 ** tries, 500) * (0.5 + world.random() / 2);
          contact.failed(error);
          sent ||= !this.#connections.isUnsent(error);
          const isLast = spentMs + delayMs > contact.most(forMs);
          if (faultOf(error) !== "transient" || isLast) throw this.trouble(operation, spentMs, error, sent);
          await sleep(world, delayMs);
        }
      }
    } finally {
      end();
    }
  }

  /** The error that the caller gets when a call has failed for good. */
  trouble(operation: string, spentMs: number, error: unknown, sent = true): unknown {
    switch (faultOf(error)) {
      case "transient":
        return new StoreUnavailable(operation, spentMs, error, { sent, at: this.#connections.address });
      case "refused":
        return new StoreRefused(operation, error instanceof ConnectRefused ? error.cause : error);
      case "data":
        return new DataRefused(operation, error);
      case "schema":
        return new SchemaMissing(this.dialect.schema, sqlState(error) ?? "");
      case "fatal":
        return error instanceof HoldfastError ? error : new StoreFailed(operation, error);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#background);
    await this.#connections.close();
  }

  #text(statement: Statement): string {
    let text = this.#texts.get(statement);
    if (text === undefined) {
      text = statement.text(this.dialect);
      this.#texts.set(statement, text);
    }
    return text;
  }
}

async function valuesOf(values: Values): Promise<readonly unknown[]> {
  return typeof values === "function" ? values() : values;
}

/** Some libraries return the rows themselves. */
function rowsOf<Row>(answer: { readonly rows: readonly unknown[] } | readonly unknown[]): Row[] {
  return (Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows) as Row[];
}

// Connections and how a statement is carried out: prepared where possible, with a time limit on this side,
// repeated when the fault is passing. Every statement of ours may be repeated after an unanswered COMMIT.

import { createHash } from "node:crypto";
import pg from "pg";
import { sleep, type World } from "../../kernel/world.js";
import type { Transaction } from "../contract/transaction.js";
import { arrayLiteral } from "./array-literal.js";
import type { Dialect, Statement } from "./dialect.js";
import { DataRefused, SchemaMissing, StoreFailed, StoreUnavailable } from "./errors.js";
import { connectionSurvives, faultOf, sqlState } from "./sqlstate.js";

export interface DatabaseOptions {
  readonly world: World;
  readonly dialect: Dialect;
  /** Ours to make and to end, or the user's to share. */
  readonly source: string | pg.Pool;
  /** At most this many connections besides the one for renewals. */
  readonly connections: number;
  readonly queryTimeoutMs: number;
  /** How long a failing call is repeated before the caller is told. */
  readonly retryForMs: number;
}

/** Renewals never queue behind other work: they have a connection of their own. */
export type Line = "main" | "renewals";

const SESSION_SETTINGS = (timeoutMs: number) =>
  `set lock_timeout = ${Math.ceil(timeoutMs / 2)}; set statement_timeout = ${timeoutMs}; ` +
  `set idle_in_transaction_session_timeout = ${timeoutMs}; ` +
  // Compiling our short statements takes longer than running them (16 s instead of 0.3 s for one badly costed claim).
  "set jit = off; " +
  // Notices a dead client in the middle of a query. Not every platform has it.
  "do $$ begin perform set_config('client_connection_check_interval', '1000', false); exception when others then null; end $$";

const ignore = () => {};

export class Database {
  readonly dialect: Dialect;
  readonly #options: DatabaseOptions;
  readonly #pools: Record<Line, pg.Pool>;
  readonly #texts = new Map<Statement, string>();
  /** Stores on several schemas may share a pool: the same name must not stand for two texts. */
  readonly #prefix: string;
  /** On every query of ours, also on a pool of the application's. */
  readonly #limit: { readonly query_timeout: number };
  #pooled: boolean | undefined;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.dialect = options.dialect;
    this.#limit = { query_timeout: options.queryTimeoutMs };
    this.#prefix = `hf_${createHash("sha1").update(JSON.stringify(options.dialect)).digest("hex").slice(0, 6)}_`;
    // Not instanceof: the application's copy of pg may be another one.
    const shared = typeof options.source === "string" ? null : options.source;
    const config = (max: number): pg.PoolConfig => ({
      ...(shared
        ? { ...shared.options, password: shared.options.password }
        : { connectionString: options.source as string }),
      max,
      query_timeout: options.queryTimeoutMs,
      connectionTimeoutMillis: options.queryTimeoutMs,
      keepAlive: true,
      application_name: "holdfast",
      onConnect: (client: pg.ClientBase) => this.#prepareSession(client),
    });
    this.#pools = {
      main: shared ?? new pg.Pool(config(options.connections)),
      renewals: new pg.Pool(config(1)),
    };
    // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
    for (const pool of Object.values(this.#pools)) pool.on("error", ignore);
  }

  /** True behind a transaction pooler such as PgBouncer: no named statements, no session settings. */
  get pooled(): boolean {
    return this.#pooled ?? false;
  }

  /** Carries out one statement, repeating it while the fault is passing. */
  async run<Row>(statement: Statement, values: unknown[], options: { line?: Line; tx?: Transaction | undefined } = {}) {
    const text = this.#text(statement);
    const sent = values.map((value) => (Array.isArray(value) ? arrayLiteral(value) : value));
    if (options.tx) return (await options.tx.query(text, sent)).rows as Row[];
    const line = options.line ?? "main";
    return this.repeat(statement.name, line === "renewals" ? 0 : this.#options.retryForMs, () =>
      this.#withClient(line, async (client) => {
        const name = this.#pooled ? undefined : `${this.#prefix}${statement.name}`;
        return (await client.query({ ...(name && { name }), text, values: sent, ...this.#limit })).rows as Row[];
      }),
    );
  }

  /** A text that varies (lists with filters): never prepared. */
  async runText<Row>(operation: string, text: string, values: unknown[]): Promise<Row[]> {
    return this.repeat(operation, this.#options.retryForMs, () =>
      this.#withClient("main", async (client) => (await client.query({ text, values, ...this.#limit })).rows as Row[]),
    );
  }

  /** Several statements in one transaction, on one connection. Not repeated. */
  transaction<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    return this.#withClient("main", async (client) => {
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

  async repeat<T>(operation: string, forMs: number, attempt: () => Promise<T>): Promise<T> {
    const { world } = this.#options;
    const startedAt = world.monotonicNow();
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        const fault = faultOf(error);
        if (fault === "data") throw new DataRefused(operation, error);
        if (fault === "schema") throw new SchemaMissing(this.dialect.schema, sqlState(error) ?? "");
        if (fault === "fatal") throw new StoreFailed(operation, error);
        const spentMs = world.monotonicNow() - startedAt;
        const delayMs = Math.min(20 * 2 ** tries, 500) * (0.5 + world.random() / 2);
        if (spentMs + delayMs > forMs) throw new StoreUnavailable(operation, spentMs, error);
        await sleep(world, delayMs);
      }
    }
  }

  async close(): Promise<void> {
    const { source } = this.#options;
    await this.#pools.renewals.end();
    if (this.#pools.main === source) source.removeListener("error", ignore);
    else await this.#pools.main.end();
  }

  #text(statement: Statement): string {
    let text = this.#texts.get(statement);
    if (text === undefined) {
      text = statement.text(this.dialect);
      this.#texts.set(statement, text);
    }
    return text;
  }

  async #withClient<T>(line: Line, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pools[line].connect();
    // A connection that dies while checked out reports twice: to the query, and here.
    client.on("error", ignore);
    let broken = false;
    try {
      if (this.#pooled === undefined) await this.#detectPooler(client);
      return await work(client);
    } catch (error) {
      broken = !connectionSurvives(error);
      throw error;
    } finally {
      if (!broken) client.removeListener("error", ignore);
      client.release(broken);
    }
  }

  /** A pooler hands out a process id of its own in the greeting; the server's differs. */
  async #detectPooler(client: pg.ClientBase): Promise<void> {
    const { rows } = await client.query("select pg_backend_pid() as pid");
    this.#pooled = rows[0].pid !== (client as unknown as { processID: number }).processID;
  }

  async #prepareSession(client: pg.ClientBase): Promise<void> {
    if (this.#pooled === undefined) await this.#detectPooler(client);
    if (!this.#pooled) await client.query(SESSION_SETTINGS(this.#options.queryTimeoutMs));
  }
}

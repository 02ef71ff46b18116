// The store's connections: the pools, how a connection is borrowed, and what is set on it first.

import pg from "pg";
import type { Logger } from "../../../kernel/logger.js";
import type { World } from "../../../kernel/world.js";
import { ConnectRefused, ConnectTimeout, StoreClosed } from "./errors.js";
import { FirstContact } from "./first-contact.js";
import { GIVE_BACK_POOLED, giveBack, LOOK } from "./session-reset.js";
import { SpareConnections } from "./spare-connections.js";
import { connectionSurvives, faultOf, isWrongServer } from "./sqlstate.js";

/**
 * Renewals never queue behind other work: they have a connection of their own. The third line serves what must not
 * wait for a connection that the caller's own transactions hold: on a shared pool it is one more connection, opened when needed.
 * `transactions` are the user's steps that write to the database; they never take a connection from the engine.
 */
export type Line = "main" | "renewals" | "aside" | "transactions";

export interface ConnectionOptions {
  readonly world: World;
  /** Pools that the store creates and ends, or the user's shared pool. */
  readonly source: string | pg.Pool;
  /** At most this many connections on the main line of our own. */
  readonly connections: number;
  /** At most this many transactions of the user's steps at a time. */
  readonly transactions: number;
  readonly queryTimeoutMs: number;
  /** Where it reports that the database does not answer the first call. @default nowhere */
  readonly logger?: Pick<Logger, "warn"> | null;
}

/**
 * For our own statements, which are written so that one plan fits all values and every table is read by an index. Left to itself, the
 * planner reads all of a table that is small or new, and keeps to that plan until statistics are taken, for a minute or more (the
 * hand-over between tasks in a new schema: 8.1 and 8.8 ms instead of 6.5 and 6.7); and with a million rows it finds each plan for
 * the values at hand so much better that it makes a new one every time (4.2 instead of 2.3 ms for a claim of 50).
 */
export const OUR_STATEMENTS = "set enable_seqscan = off; set plan_cache_mode = force_generic_plan";
/** For one whose best plan depends on its values, and one that may have to read a table in whole. Until the transaction's end. */
export const FOR_ITS_VALUES = "set local plan_cache_mode = auto";
/** For a page that is read in the order of an index: without statistics, the planner would read all rows and sort them. */
export const IN_INDEX_ORDER = `${FOR_ITS_VALUES}; set local enable_sort = off; set local enable_bitmapscan = off`;
export const AS_THE_SERVER_LIKES = `${FOR_ITS_VALUES}; set local enable_seqscan = on`;

const SESSION_SETTINGS = (timeoutMs: number) =>
  `set lock_timeout = ${Math.ceil(timeoutMs / 2)}; set statement_timeout = ${timeoutMs}; ` +
  `set idle_in_transaction_session_timeout = ${timeoutMs}; set default_transaction_isolation = 'read committed'; ` +
  // Compiling our short statements takes longer than running them (16 s instead of 0.3 s for one badly costed claim).
  "set jit = off; " +
  // Notices a dead client in the middle of a query. Not every platform has it.
  "do $$ begin perform set_config('client_connection_check_interval', '1000', false); exception when others then null; end $$";

/** A server that takes no writes is looked up by its name again after this time: reads alone would never notice another primary. */
const READ_ONLY_MS = 2_000;

const FOR_GOOD = Number.POSITIVE_INFINITY;

/** What is known of one connection. */
interface Opened {
  /** How often all connections had been given up when it was opened. */
  readonly age: number;
  /** The server took no writes: not used any more from then on. */
  readonly until: number;
  /** What the application's own set-up made it; "none" mostly. */
  readonly role: string;
}

/** Not in the types of the driver. */
const PIPELINED = { pipeline: true } as pg.PoolConfig;

const ignore = () => {};

export class Connections {
  readonly #options: ConnectionOptions;
  readonly #shared: pg.Pool | null;
  readonly #pools: Record<Line, pg.Pool>;
  readonly #onConnect: (client: pg.ClientBase) => void;
  /** Of the main line, where that is ours. */
  readonly #spares: SpareConnections | null;
  #pooled: boolean | undefined;
  #closed: Promise<void> | null = null;
  /** Rises when all open connections may lead to the wrong server. */
  #age = 0;
  readonly #opened = new WeakMap<pg.ClientBase, Opened>();
  readonly #onGivenUp = new Set<() => void>();
  /** Callers that wait for a connection. */
  readonly #waiting = new Set<(reason: Error) => void>();
  /** Errors of opening a connection: no statement was sent. */
  readonly #unsent = new WeakSet<object>();
  /** Host and port, without user and password. */
  readonly address: string;
  readonly firstContact: FirstContact;

  /** `onNew` is called for every new connection: the server behind it may be another one than before. */
  constructor(options: ConnectionOptions, onNew: () => void) {
    this.#options = options;
    this.address = addressOf(options.source);
    this.firstContact = new FirstContact({ ...options, address: this.address, logger: options.logger ?? null });
    this.#onConnect = (client) => {
      this.firstContact.reached();
      // Of ours it is known already, with what was asked of it.
      if (!this.#opened.has(client)) this.#opened.set(client, { age: this.#age, until: FOR_GOOD, role: "none" });
      onNew();
    };
    // Not instanceof: the application's copy of pg may be another one.
    this.#shared = typeof options.source === "string" ? null : options.source;
    const main = this.#shared ?? new pg.Pool({ ...this.#config(options.connections, OUR_STATEMENTS), ...PIPELINED });
    const aside = this.#shared ? new pg.Pool(this.#config(1, OUR_STATEMENTS)) : main;
    // Not on a shared pool: a transaction waits for its run's commit that is under way, and that would wait for a connection
    // which transactions hold. 8 runs with a step next to a transaction hung on a pool of 3.
    const transactions = new pg.Pool(this.#config(options.transactions));
    this.#pools = { main, renewals: new pg.Pool(this.#config(1, OUR_STATEMENTS)), aside, transactions };
    this.#spares = this.#shared ? null : new SpareConnections(main, options.world, (client) => this.#isOld(client));
    // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
    for (const pool of new Set(Object.values(this.#pools))) pool.on("error", ignore).on("connect", this.#onConnect);
  }

  /** True behind a transaction pooler such as PgBouncer: no named statements, no session settings. */
  get pooled(): boolean {
    return this.#pooled ?? false;
  }

  /** On the main line: not on a pool of the application's, nor where a pooler may send each statement to another server process. */
  get pipelined(): boolean {
    return this.#shared === null && !this.pooled;
  }

  /** After which the server ends a statement of a user's transaction; null where sessions cannot be set. */
  get statementMs(): number | null {
    return this.pooled ? null : this.#options.queryTimeoutMs;
  }

  /** `keep`: it is still in use until that has settled, which the answer does not wait for. */
  async use<T>(
    line: Line,
    work: (client: pg.PoolClient, keep: (using: Promise<unknown>) => void) => Promise<T>,
  ): Promise<T> {
    const spares = this.#pools[line] === this.#pools.main ? this.#spares : null;
    const client = spares?.take() ?? (await this.#connectToRight(line));
    // A connection that dies while checked out reports twice: to the query, and here.
    client.on("error", ignore);
    const release = (failed: boolean) => {
      const broken = failed || this.#isOld(client);
      if (!broken) client.removeListener("error", ignore);
      if (broken || !spares) client.release(broken);
      else spares.keep(client);
    };
    let kept: Promise<unknown> | null = null;
    let broken = false;
    try {
      if (this.#pooled === undefined) await this.#detectPooler(client);
      return await work(client, (using) => {
        kept = using;
      });
    } catch (error) {
      broken = !connectionSurvives(error);
      if (isWrongServer(error)) this.giveUpAll(client);
      throw error;
    } finally {
      if (kept === null) release(broken);
      else
        (kept as Promise<unknown>).then(
          () => release(broken),
          (error) => release(broken || !connectionSurvives(error)),
        );
    }
  }

  /**
   * A statement of the store on this connection found a server that takes no writes, or one without Holdfast's tables. All older
   * connections lead there, too: the next ones resolve the name again. A repeated report about an older connection is ignored.
   */
  giveUpAll(client: pg.ClientBase): void {
    if ((this.#opened.get(client)?.age ?? 0) < this.#age) return;
    this.#age++;
    this.#spares?.dropAll();
    for (const callback of this.#onGivenUp) callback();
  }

  /** For connections outside all pools. Returns a function that stops listening. */
  onGivenUp(callback: () => void): () => void {
    this.#onGivenUp.add(callback);
    return () => this.#onGivenUp.delete(callback);
  }

  #isOld(client: pg.ClientBase): boolean {
    const opened = this.#opened.get(client);
    return (opened?.age ?? 0) < this.#age || (opened?.until ?? FOR_GOOD) < this.#options.world.monotonicNow();
  }

  /** In a transaction, before statements of the store: resets what the user's statements have set. Behind a pooler it resets everything, because there is no later chance. */
  giveBack(client: pg.ClientBase): string {
    if (this.pooled) return GIVE_BACK_POOLED;
    return giveBack(this.#opened.get(client)?.role ?? "none", this.#options.queryTimeoutMs);
  }

  /** After a user's transaction: resets the session for the next one. Rejects without a code: then the connection must be closed. */
  async cleanSession(client: pg.ClientBase): Promise<void> {
    if (this.pooled) return;
    try {
      await client.query("discard all");
      await this.#setUp(client, "");
    } catch (error) {
      throw new ConnectRefused(error);
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    for (const reject of this.#waiting) reject(new StoreClosed());
    this.#spares?.close();
    this.#shared?.removeListener("error", ignore).removeListener("connect", this.#onConnect);
    const ours = new Set(Object.values(this.#pools).filter((pool) => pool !== this.#shared));
    await Promise.all([...ours].map((pool) => pool.end()));
  }

  #config(max: number, settings = ""): pg.PoolConfig {
    const { source, queryTimeoutMs } = this.#options;
    const shared = this.#shared?.options;
    return {
      ...(shared ? { ...shared, password: shared.password } : { connectionString: source as string }),
      max,
      query_timeout: queryTimeoutMs,
      connectionTimeoutMillis: queryTimeoutMs,
      keepAlive: true,
      application_name: "holdfast",
      onConnect: (client: pg.ClientBase) => this.#setUp(client, settings),
    };
  }

  async #setUp(client: pg.ClientBase, settings: string): Promise<void> {
    await this.#shared?.options.onConnect?.(client as pg.PoolClient);
    await this.#prepareSession(client, settings);
  }

  /** For a connection outside all pools. */
  clientConfig(): pg.ClientConfig {
    const { max: _max, onConnect: _onConnect, ...config } = this.#config(1);
    return { ...config, connectionTimeoutMillis: this.#options.queryTimeoutMs };
  }

  /** A connection that was opened before all were given up is closed, and the next one is borrowed. */
  async #connectToRight(line: Line): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#connect(line).catch((error: unknown) => {
        if (typeof error === "object" && error !== null) this.#unsent.add(error);
        // No statement is the cause when a connection cannot be opened.
        throw faultOf(error) === "transient" || error instanceof StoreClosed ? error : refusedToConnect(error);
      });
      this.firstContact.reached();
      if (!this.#isOld(client)) return client;
      client.release(true);
    }
  }

  /** Whether a call failed with this before anything was sent. */
  isUnsent(error: unknown): boolean {
    return typeof error === "object" && error !== null && this.#unsent.has(error);
  }

  /** A pool of the application's may wait without end for a free connection, or for the server's greeting. */
  #connect(line: Line): Promise<pg.PoolClient> {
    const { world, queryTimeoutMs } = this.#options;
    if (this.#closed) return Promise.reject(new StoreClosed());
    return new Promise((resolve, reject) => {
      let late = false;
      const giveUp = (reason: Error) => {
        late = true;
        cancel();
        this.#waiting.delete(giveUp);
        reject(reason);
      };
      const cancel = world.after(this.firstContact.most(queryTimeoutMs), () => giveUp(new ConnectTimeout()));
      this.#waiting.add(giveUp);
      this.#pools[line].connect().then((client) => {
        cancel();
        this.#waiting.delete(giveUp);
        if (late) client.release();
        else resolve(client);
      }, giveUp);
    });
  }

  /** A pooler hands out a process id of its own in the greeting; the server's differs. */
  async #detectPooler(client: pg.ClientBase): Promise<void> {
    const query = { text: "select pg_backend_pid() as pid", query_timeout: this.#options.queryTimeoutMs };
    const { rows } = await client.query(query);
    this.#pooled = rows[0].pid !== (client as unknown as { processID: number }).processID;
  }

  async #prepareSession(client: pg.ClientBase, settings: string): Promise<void> {
    // Set up again, it is as old as it was.
    const age = this.#opened.get(client)?.age ?? this.#age;
    if (this.#pooled === undefined) await this.#detectPooler(client);
    if (this.#pooled) return void this.#opened.set(client, { age, until: FOR_GOOD, role: "none" });
    const text = `${SESSION_SETTINGS(this.#options.queryTimeoutMs)}; ${settings ? `${settings}; ` : ""}${LOOK}`;
    const answers = (await client.query(text)) as unknown as readonly pg.QueryResult[];
    const { role, transaction_read_only: readOnly } = Object.assign(
      {},
      ...answers.slice(-2).map(({ rows }) => rows[0]),
    );
    const until = readOnly === "on" ? this.#options.world.monotonicNow() + READ_ONLY_MS : FOR_GOOD;
    this.#opened.set(client, { age, until, role });
  }
}

/** As the driver reads it. */
function addressOf(source: string | pg.Pool): string {
  try {
    const config = typeof source === "string" ? { connectionString: source } : { ...source.options };
    const { host, port } = new pg.Client(config as pg.ClientConfig);
    return `${host}:${port}`;
  } catch {
    // It cannot be parsed; the first connection fails and reports that.
    return "an address that cannot be parsed";
  }
}

function refusedToConnect(error: unknown): unknown {
  return faultOf(error) === "refused" ? error : new ConnectRefused(error);
}

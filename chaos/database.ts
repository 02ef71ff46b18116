// A PostgreSQL server of its own that can be crashed and started again, and that remembers what its log said.

import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { type EmbeddedPostgres, startEmbedded } from "../src/embedded/index.js";

const SETTINGS = { max_connections: "300", max_wal_size: "2GB", log_min_messages: "warning" };

export class Database {
  /** Where it listens now: the object stays, the port may change with a restart. */
  readonly address = { host: "127.0.0.1", port: 0 };
  readonly #folder: string;
  #server: EmbeddedPostgres | null = null;
  #url = "";
  #log = "";

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(): Promise<Database> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-chaos-"));
    // As root the server runs under another account, which must be able to pass through.
    await chmod(folder, 0o711);
    const database = new Database(folder);
    await database.open();
    return database;
  }

  /** Also while it is down: a node may be started then. */
  get url(): string {
    return this.#url;
  }

  get running(): boolean {
    return this.#server !== null;
  }

  async open(): Promise<void> {
    this.#server ??= await startEmbedded({
      dataDir: join(this.#folder, "postgres"),
      settings: SETTINGS,
      onNotice: () => {},
    });
    this.address.port = this.#server.port;
    this.#url = this.#server.url;
  }

  /** Immediate: nothing is written on the way out, the next start recovers from the log. */
  crash(): Promise<void> {
    return this.#end("SIGQUIT");
  }

  /** Fast: sessions are cut off, a checkpoint is written. */
  halt(): Promise<void> {
    return this.#end("SIGINT");
  }

  /** A connection of the caller's own, to be ended by it. */
  async session(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url });
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = await this.session();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** What the server has complained about since the first start: each message with how often. */
  async complaints(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const [, message] of (await this.#wholeLog()).matchAll(/ (?:ERROR|PANIC): {2}(.*)$/gm)) {
      counts.set(message!, (counts.get(message!) ?? 0) + 1);
    }
    return counts;
  }

  /** Answers the folder when it was to be kept. */
  async stop(options: { keep: boolean }): Promise<string | null> {
    await this.halt();
    if (options.keep) {
      await writeFile(join(this.#folder, "postgres", "whole.log"), this.#log);
      return join(this.#folder, "postgres");
    }
    await rm(this.#folder, { recursive: true, force: true });
    return null;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    process.kill(server.pid, signal);
    // Waits until it is gone; a second, milder request changes nothing.
    await server.stop();
    // The next start puts the log aside and the one after that deletes it.
    this.#log += await this.#readLog();
  }

  async #wholeLog(): Promise<string> {
    return this.#server === null ? this.#log : `${this.#log}${await this.#readLog()}`;
  }

  #readLog(): Promise<string> {
    return readFile(join(this.#folder, "postgres", "server.log"), "utf8").catch(() => "");
  }
}

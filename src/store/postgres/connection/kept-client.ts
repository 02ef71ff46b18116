// A connection outside the pools that reconnects whenever it breaks: for listening and for locks that are held all the time.

import pg from "pg";
import { sleep, type World } from "../../../kernel/world.js";
import type { Connections } from "./connections.js";

/** Shorter than the grace period after which other nodes consider one without a connection gone. */
const LONGEST_PAUSE_MS = 500;

export interface KeptClientOptions {
  readonly world: World;
  readonly connections: Connections;
  /** Takes the locks and sends the LISTENs of a new connection, before it counts as open. */
  readonly setUp: (client: pg.Client) => Promise<unknown>;
  readonly onNotification: (payload: string) => void;
  /** Called each time: notifications may have been missed until now. */
  readonly onOpened: () => void;
  readonly onLost?: () => void;
}

export class KeptClient {
  readonly #options: KeptClientOptions;
  readonly #closed = new AbortController();
  #client: pg.Client | null = null;
  #unfollow: (() => void) | null = null;

  constructor(options: KeptClientOptions) {
    this.#options = options;
  }

  /** Null while it is not open. */
  get client(): pg.Client | null {
    return this.#client;
  }

  /** Rejects when the connection cannot be opened. After the first success it reconnects in the background. */
  async open(): Promise<void> {
    const { connections, setUp, onNotification, onOpened } = this.#options;
    const client = new pg.Client(connections.clientConfig());
    client.on("error", () => {});
    client.on("end", () => {
      if (this.#client === client) void this.reopen();
    });
    client.on("notification", ({ payload }) => onNotification(payload ?? ""));
    try {
      await client.connect();
      await setUp(client);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    if (this.#closed.signal.aborted) return void (await client.end().catch(() => {}));
    this.#client = client;
    this.#unfollow ??= connections.onGivenUp(() => this.#moveOn());
    onOpened();
  }

  /** Tries until it is open. Behind a transaction pooler it gives up: sessions there are not ours. */
  async reopen(): Promise<void> {
    const { world, connections, onLost } = this.#options;
    const { signal } = this.#closed;
    this.#client = null;
    onLost?.();
    for (let pauseMs = 25; !signal.aborted && !connections.pooled; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await this.open();
      } catch {
        await sleep(world, pauseMs * (0.5 + world.random() / 2), signal).catch(() => {});
      }
    }
  }

  async close(): Promise<void> {
    this.#closed.abort("closed");
    this.#unfollow?.();
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  /** The server behind it turned out to be the wrong one: the next connection asks for the name again. */
  #moveOn(): void {
    const client = this.#client;
    if (client === null) return;
    void this.reopen();
    void client.end().catch(() => {});
  }
}

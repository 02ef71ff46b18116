// Tells sweepers of other processes of deadlines that are nearer than what they sleep until.
//
// A sweeper that is told of a moment looks at that moment, and then knows all that is scheduled. So a deadline behind one that was
// told and is still to come need not be told: with deadlines of half an hour, one NOTIFY in half an hour. It is sent behind the
// caller's back and before the caller's transaction commits, because it only says when to look; only for what is due so soon that
// the transaction may last longer, a second one goes with the transaction.

import { createHash } from "node:crypto";
import pg from "pg";
import { sleep } from "../../../kernel/world.js";
import type { TimeoutKey } from "../../contract/timeout/timeouts.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";

type Scope = Omit<TimeoutKey, "instance">;
type Hear = (inMs: number) => void;

/** A transaction that schedules something nearer than this may commit after its deadline. */
const SOON_MS = 2_000;
const LONGEST_PAUSE_MS = 500;

const tellTimeouts = statement(
  "wake_timeouts",
  "Wakes the nodes that watch timeouts of some scopes.",
  () =>
    "select set_config('synchronous_commit', 'off', true), count(pg_notify($1, h)) from unnest((select $2::text[])) as a(h)",
);
const tellTimeoutIn = statement(
  "wake_timeouts_in",
  "Wakes the nodes that watch timeouts when the caller's transaction commits.",
  () => "select pg_notify($1, $2)",
);

export class TimeoutHints {
  readonly #db: Database;
  readonly #on: boolean;
  readonly #channel: string;
  /** By scope: the nearest moment that others were told of, by our monotonic clock. */
  readonly #told = new Map<string, number>();
  readonly #waiting = new Map<string, number>();
  readonly #hearers = new Map<string, Set<Hear>>();
  #listening: Listening | null = null;
  #sending = false;

  constructor(db: Database, on: boolean) {
    this.#db = db;
    this.#on = on;
    this.#channel = `holdfast:timeouts:${createHash("sha1").update(db.dialect.schema).digest("hex").slice(0, 12)}`;
  }

  async tell(scope: Scope, inMs: number, tx?: Transaction): Promise<void> {
    if (!this.#on) return;
    const name = nameOf(scope);
    const dueInMs = Math.max(inMs, 0);
    if (tx && dueInMs < SOON_MS) await this.#db.run(tellTimeoutIn, [this.#channel, hintOf(name, dueInMs)], { tx });
    const now = this.#db.world.monotonicNow();
    const told = this.#told.get(name);
    if (told !== undefined && told > now && told <= now + dueInMs) return;
    this.#waiting.set(name, Math.min(this.#waiting.get(name) ?? Number.POSITIVE_INFINITY, now + dueInMs));
    if (this.#sending) return;
    this.#sending = true;
    this.#db.inBackground(() => this.#send());
  }

  /** The first one opens a connection, which the last one closes. Behind a transaction pooler nothing is heard. */
  listen(scope: Scope, hear: Hear): () => void {
    if (!this.#on) return () => {};
    const name = nameOf(scope);
    const hearers = this.#hearers.get(name) ?? new Set();
    // Its own, so that one function may listen twice.
    const mine: Hear = (inMs) => hear(inMs);
    this.#hearers.set(name, hearers.add(mine));
    this.#listening ??= new Listening(this.#db, this.#channel, (hint) => this.#heard(hint));
    return () => {
      hearers.delete(mine);
      if (hearers.size === 0 && this.#hearers.get(name) === hearers) this.#hearers.delete(name);
      if (this.#hearers.size === 0) this.close();
    };
  }

  close(): void {
    this.#listening?.close();
    this.#listening = null;
  }

  async #send(): Promise<void> {
    try {
      while (this.#waiting.size > 0) {
        const waiting = [...this.#waiting];
        this.#waiting.clear();
        const now = this.#db.world.monotonicNow();
        const hints = waiting.map(([name, at]) => hintOf(name, Math.max(at - now, 0)));
        await this.#db.run(tellTimeouts, [this.#channel, hints]);
        for (const [name, at] of waiting) this.#told.set(name, at);
      }
    } finally {
      this.#sending = false;
    }
  }

  /** Null: nobody listened for a while. */
  #heard(hint: string | null): void {
    const [name, inMs] = hint === null ? [null, 0] : (JSON.parse(hint) as [string, number]);
    for (const [scope, hearers] of this.#hearers) {
      if (name === null || name === scope) for (const hear of [...hearers]) hear(inMs);
    }
  }
}

function nameOf({ env, scope }: Scope): string {
  return JSON.stringify([env, scope]);
}

function hintOf(name: string, inMs: number): string {
  return JSON.stringify([name, Math.ceil(inMs)]);
}

/** A connection that hears one channel, opened again whenever it breaks. */
class Listening {
  readonly #db: Database;
  readonly #channel: string;
  readonly #heard: (hint: string | null) => void;
  readonly #closed = new AbortController();
  #client: pg.Client | null = null;
  readonly #unfollow: () => void;

  constructor(db: Database, channel: string, heard: (hint: string | null) => void) {
    this.#db = db;
    this.#channel = channel;
    this.#heard = heard;
    this.#unfollow = db.connections.onGivenUp(() => void this.#client?.end().catch(() => {}));
    void this.#keepOpen();
  }

  close(): void {
    this.#closed.abort("closed");
    this.#unfollow();
    void this.#client?.end().catch(() => {});
    this.#client = null;
  }

  async #keepOpen(): Promise<void> {
    const { world } = this.#db;
    for (let pauseMs = 25; !this.#closed.signal.aborted && !this.#db.pooled; ) {
      const opened = await this.#open().catch(() => null);
      if (opened) {
        pauseMs = 25;
        await opened.over;
      } else pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      await sleep(world, pauseMs * (0.5 + world.random() / 2), this.#closed.signal).catch(() => {});
    }
  }

  /** Answers what resolves when it broke. */
  async #open(): Promise<{ readonly over: Promise<void> }> {
    const client = new pg.Client(this.#db.connections.clientConfig());
    const over = new Promise<void>((resolve) => {
      client.on("end", resolve);
    });
    client.on("error", () => {});
    client.on("notification", ({ payload }) => this.#heard(payload ?? null));
    try {
      await client.connect();
      await client.query(`listen ${pg.escapeIdentifier(this.#channel)}`);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    if (this.#closed.signal.aborted) await client.end().catch(() => {});
    else this.#client = client;
    // Whatever was told meanwhile.
    this.#heard(null);
    return { over };
  }
}

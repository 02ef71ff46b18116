// Wakes the sweepers of this and of other processes for deadlines that are nearer than what they sleep until.
//
// A sweeper that is woken for a moment looks at that moment, and then knows everything that is scheduled. So a deadline later than
// one that was announced and is still to come needs no NOTIFY: with deadlines of half an hour, one NOTIFY in half an hour. It is sent in
// the background and before the caller's transaction commits, because it only says when to look. Only for a deadline so near that
// the transaction may outlast it, a second one is sent in the transaction.

import { createHash } from "node:crypto";
import pg from "pg";
import { KeyedListeners } from "../../../kernel/keyed-listeners.js";
import type { TimeoutKey } from "../../contract/timeout/timeouts.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { KeptClient } from "../connection/kept-client.js";
import { NOTIFY_UNLESS_FULL } from "../connection/wake-sender.js";

type Scope = Omit<TimeoutKey, "instance">;

/** A transaction that schedules something nearer than this may commit after its deadline. */
const SOON_MS = 2_000;

const wakeSweepers = statement(
  "wake_sweepers",
  "Wakes the sweepers of some scopes in other processes.",
  () =>
    "select set_config('synchronous_commit', 'off', true), count(pg_notify($1, h)) from unnest((select $2::text[])) as a(h)",
);
const wakeSweepersIn = statement(
  "wake_sweepers_in",
  "Wakes the sweepers of a scope when the caller's transaction commits, unless the queue of notifications is nearly full.",
  () => NOTIFY_UNLESS_FULL,
);

export class TimeoutWakes {
  readonly #db: Database;
  readonly #notify: boolean;
  readonly #channel: string;
  /** By scope: the nearest moment that other processes were woken for, by our monotonic clock. */
  readonly #announced = new Map<string, number>();
  readonly #waiting = new Map<string, number>();
  readonly #listeners = new KeyedListeners<number>();
  #listening: KeptClient | null = null;
  #sending = false;

  constructor(db: Database, notify: boolean) {
    this.#db = db;
    this.#notify = notify;
    this.#channel = `holdfast:timeouts:${createHash("sha1").update(db.dialect.schema).digest("hex").slice(0, 12)}`;
  }

  async wake(scope: Scope, inMs: number, tx?: Transaction): Promise<void> {
    const name = nameOf(scope);
    const dueInMs = Math.max(inMs, 0);
    this.#listeners.call(name, dueInMs);
    if (!this.#notify) return;
    if (tx && dueInMs < SOON_MS) await this.#db.run(wakeSweepersIn, [this.#channel, payloadOf(name, dueInMs)], { tx });
    const now = this.#db.world.monotonicNow();
    const announced = this.#announced.get(name);
    if (announced !== undefined && announced > now && announced <= now + dueInMs) return;
    this.#waiting.set(name, Math.min(this.#waiting.get(name) ?? Number.POSITIVE_INFINITY, now + dueInMs));
    if (this.#sending) return;
    this.#sending = true;
    this.#db.inBackground(() => this.#send());
  }

  /** The first listener opens a connection, and removing the last one closes it. Behind a transaction pooler there is none. */
  listen(scope: Scope, listener: (inMs: number) => void): () => void {
    const remove = this.#listeners.add(nameOf(scope), listener);
    if (this.#notify) this.#listening ??= this.#openChannel();
    return () => {
      remove();
      if (this.#listeners.isEmpty) this.close();
    };
  }

  close(): void {
    void this.#listening?.close();
    this.#listening = null;
  }

  #openChannel(): KeptClient {
    const { world, connections } = this.#db;
    const listening = new KeptClient({
      world,
      connections,
      setUp: (client) => client.query(`listen ${pg.escapeIdentifier(this.#channel)}`),
      onNotification: (payload) => this.#listeners.call(...(JSON.parse(payload) as [name: string, inMs: number])),
      // What was announced while the connection was not open is lost: look now.
      onOpened: () => this.#listeners.callAll(0),
    });
    void listening.reopen();
    return listening;
  }

  async #send(): Promise<void> {
    try {
      while (this.#waiting.size > 0) {
        const waiting = [...this.#waiting];
        this.#waiting.clear();
        const now = this.#db.world.monotonicNow();
        const payloads = waiting.map(([name, at]) => payloadOf(name, Math.max(at - now, 0)));
        await this.#db.run(wakeSweepers, [this.#channel, payloads]);
        for (const [name, at] of waiting) this.#announced.set(name, at);
      }
    } finally {
      this.#sending = false;
    }
  }
}

function nameOf({ env, scope }: Scope): string {
  return JSON.stringify([env, scope]);
}

function payloadOf(name: string, inMs: number): string {
  return JSON.stringify([name, Math.ceil(inMs)]);
}

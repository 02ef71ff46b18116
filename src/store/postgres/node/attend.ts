// A node's own connection: it is woken there, and holds a lock that the server drops when the process dies.
//
// The connection runs nothing else, so that the lock of a killed process is gone within milliseconds (measured: 4–7 ms).
// Safety never depends on it, only how soon a takeover begins: the fence refuses whatever a node writes that was missed
// by mistake. A node that cannot open it again lives on: it sends its heartbeat more often, and with heartbeats it is not gone.

import pg from "pg";
import { sleep, type World } from "../../../kernel/world.js";
import type { Attendance, Attendee } from "../../contract/node/attend.js";
import type { Connections } from "../connection/connections.js";
import { NOW, statement } from "../connection/dialect.js";
import { channelOf, readCall, readHint } from "../connection/hints.js";
import { PRESENCE_CLASS } from "./presence-sql.js";

/** Sooner than the grace after which others take a node that is missing for gone. */
const LONGEST_PAUSE_MS = 500;

/** Locks belong to a database, not to a schema: counted from 1 in each, a node waited for that of another schema. */
const drawPresence = statement(
  "draw_presence",
  "Draws the number of a node's session lock.",
  ({ schema: s }) => `select (hashtext($1) # nextval('${s}.presence')::int) & 2147483647 as n`,
);

const holdPresence = statement(
  "hold_presence",
  "Takes a node's session lock, which the server drops when the connection ends.",
  () => "select pg_advisory_lock($1, $2)",
);

/** Skipped while another transaction has the row locked: the lock is held, and a round that misses it asks again. */
const announcePresence = statement(
  "announce_presence",
  "Stores the number of a node's session lock in its row.",
  ({ schema: s }) => `
update ${s}.nodes set presence = $2, absent_since = null where incarnation = (
  select incarnation from ${s}.nodes where incarnation = $1 for no key update skip locked)`,
);

export interface AttendOptions {
  readonly world: World;
  /** Quoted. */
  readonly schema: string;
  readonly attendee: Attendee;
  readonly connections: Connections;
}

export async function attend(options: AttendOptions): Promise<Attendance> {
  if (options.connections.pooled) return { seen: false, again: async () => {}, leave: async () => {} };
  const presence = new Presence(options);
  await presence.open();
  presence.follow();
  return { seen: true, again: () => presence.announce(), leave: () => presence.close() };
}

class Presence {
  readonly #options: AttendOptions;
  readonly #left = new AbortController();
  #client: pg.Client | null = null;
  #number: number | null = null;

  #unfollow: () => void = () => {};

  constructor(options: AttendOptions) {
    this.#options = options;
  }

  /** When the server turns out to be the wrong one, its lock there is of no use: it is taken where the name leads now. */
  follow(): void {
    this.#unfollow = this.#options.connections.onGivenUp(() => {
      const client = this.#client;
      if (client === null) return;
      void this.#reopen();
      void client.end().catch(() => {});
    });
  }

  async open(): Promise<void> {
    const { connections, attendee } = this.#options;
    const client = new pg.Client(connections.clientConfig());
    client.on("error", () => {});
    client.on("end", () => {
      if (this.#client === client) void this.#reopen();
    });
    client.on("notification", ({ payload }) => {
      const called = readCall(payload ?? "");
      if (called) return attendee.onCalled?.(called);
      const { groupIds, news } = readHint(payload ?? "");
      if (news) attendee.onNews?.();
      if (!news || groupIds.length > 0) attendee.onHint(groupIds);
    });
    try {
      await client.connect();
      await this.#sayHere(client);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    attendee.onPresence?.(true);
    // There may have been work while it did not listen.
    attendee.onHint([]);
  }

  async #sayHere(client: pg.Client): Promise<void> {
    const { schema } = this.#options;
    if (this.#number === null) {
      const { rows } = await client.query(drawPresence.text({ schema, now: NOW }), [schema]);
      this.#number = rows[0].n as number;
    }
    await client.query(holdPresence.text({ schema, now: NOW }), [PRESENCE_CLASS, this.#number]);
    await client.query(`listen ${pg.escapeIdentifier(channelOf(schema))}`);
    await this.#announce(client);
  }

  /** Its lock is held as before; the row that names the lock was written again. */
  async announce(): Promise<void> {
    if (this.#client) await this.#announce(this.#client);
  }

  async #announce(client: pg.Client): Promise<void> {
    const { schema, attendee } = this.#options;
    await client.query(announcePresence.text({ schema, now: NOW }), [attendee.incarnation, this.#number]);
  }

  async close(): Promise<void> {
    this.#left.abort();
    this.#unfollow();
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  async #reopen(): Promise<void> {
    const { world, attendee } = this.#options;
    this.#client = null;
    attendee.onPresence?.(false);
    for (let pauseMs = 25; !this.#left.signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        await this.open();
        return;
      } catch {
        await sleep(world, pauseMs * (0.5 + world.random() / 2), this.#left.signal).catch(() => {});
      }
    }
  }
}

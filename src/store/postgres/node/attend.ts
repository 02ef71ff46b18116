// A node's own connection: it is woken there, and holds a lock that the server drops when the process dies.
//
// The connection runs nothing else, so that the lock of a killed process is gone within milliseconds (measured: 4–7 ms).
// Safety never depends on it, only how soon a takeover begins: the fence refuses every write of a node that was counted as
// missing by mistake. A node that cannot reconnect keeps working: it sends its heartbeat more often, and with heartbeats it is
// not gone.

import pg from "pg";
import type { World } from "../../../kernel/world.js";
import type { Attendance, Attendee } from "../../contract/node/attend.js";
import type { Connections } from "../connection/connections.js";
import { NOW, statement } from "../connection/dialect.js";
import { KeptClient } from "../connection/kept-client.js";
import { channelOf, readCall, readWake } from "../connection/wake-sender.js";
import { PRESENCE_CLASS } from "./presence-sql.js";

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
  await presence.kept.open();
  return { seen: true, again: () => presence.announce(), leave: () => presence.kept.close() };
}

class Presence {
  readonly kept: KeptClient;
  readonly #options: AttendOptions;
  #number: number | null = null;

  constructor(options: AttendOptions) {
    const { world, connections, attendee } = options;
    this.#options = options;
    this.kept = new KeptClient({
      world,
      connections,
      setUp: (client) => this.#sayHere(client),
      onNotification: (payload) => this.#notified(payload),
      onOpened: () => {
        attendee.onPresence?.(true);
        // Work may have arrived while it did not listen.
        attendee.onWake([]);
      },
      onLost: () => attendee.onPresence?.(false),
    });
  }

  #notified(payload: string): void {
    const { attendee } = this.#options;
    const called = readCall(payload);
    if (called) {
      attendee.onCalled?.(called);
      return;
    }
    const { groupIds, news } = readWake(payload);
    if (news) attendee.onNews?.();
    if (!news || groupIds.length > 0) attendee.onWake(groupIds);
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
    if (this.kept.client) await this.#announce(this.kept.client);
  }

  async #announce(client: pg.Client): Promise<void> {
    const { schema, attendee } = this.#options;
    await client.query(announcePresence.text({ schema, now: NOW }), [attendee.incarnation, this.#number]);
  }
}

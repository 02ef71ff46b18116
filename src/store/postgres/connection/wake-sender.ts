// Wakes other processes: one NOTIFY at a time, for all the groups that got work since the last one.
//
// NOTIFY takes a lock of the whole server at commit (32 clients: 3 × fewer commits when each sends its own), so it is
// a separate statement: right after the one that created the work, or in the background, and never once per row.

import type { Attendee } from "../../contract/node/attend.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Behind, Database } from "./database.js";
import { statement } from "./dialect.js";

/** A payload has room for 8,000 bytes; beyond this many groups every node looks. */
const MOST_GROUPS = 200;
/** Where a statement leaves the groups that got work, for the one behind it. */
const LEFT = "holdfast.hint";
const ANY = "any";

/** An expression that leaves the groups of a query with one column to be woken right behind: see `wakeBehind`. */
export const leaveWake = (groups: string) => `set_config('${LEFT}', (
    select case when count(distinct g) > ${MOST_GROUPS} then '${ANY}' else coalesce(string_agg(distinct g::text, ','), '') end
    from (${groups}) as x(g)), false)`;

/**
 * In a caller's transaction. A commit that finds the queue of notifications full fails with everything in it: one listener that
 * reads nothing would end every start. Without the wake, the poll finds the work. As text: Prisma cannot read a column of type void.
 */
export const NOTIFY_UNLESS_FULL = "select pg_notify($1, $2)::text as sent where pg_notification_queue_usage() < 0.9";

/** The caller decides on the durability. */
const wakeIn = statement(
  "wake_in",
  "Wakes nodes when the caller's transaction commits, unless the queue of notifications is nearly full.",
  () => NOTIFY_UNLESS_FULL,
);
/** A wake-up need not survive a crash: not flushing it saves the pick-up 0.7 ms (p10, 5.5 instead of 6.3 on a busy machine). */
const wakeNodes = statement(
  "wake",
  "Wakes nodes that claim from some groups.",
  () => "select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)",
);

/**
 * Sent on the connection of the statement that created the work, without waiting for its answer; the server executes it right
 * after that statement's commit. In the transaction itself, NOTIFY would hold its lock while the commit is
 * flushed. The pick-up of an event comes 0.5 ms sooner (medians of 6 rounds in turn, 6.8 and 6.3).
 */
const wakeLeft = statement(
  "wake_left",
  "Wakes the nodes for whom the statement before it on the same connection made work.",
  () => `
select set_config('synchronous_commit', 'off', true), pg_notify($1, case hint when '${ANY}' then '' else hint end),
  set_config('${LEFT}', '', false)
from (select current_setting('${LEFT}', true) as hint offset 0) x where hint <> ''`,
);

/** The wake to send after a statement that stores its groups; null: the caller reports the groups afterwards, by `onWork`. */
export function wakeBehind(db: Database): Behind | null {
  return db.notifies && db.pipelined ? { statement: wakeLeft, values: [channelOf(db.dialect.schema)] } : null;
}

/** How late a start under a rate may be, in ms: nodes are woken 25 times a second at most. */
const LATER_STEP_MS = 40;

export function channelOf(schema: string): string {
  return `holdfast:${schema.replaceAll('"', "")}`;
}

/** Before the groups: something is left for housekeeping. Alone: nothing else is. */
const NEWS = "!";

/** Before the ids of runs that were asked to stop. */
const CALLED = "@";
/** Of 37 bytes each. */
const MOST_CALLED = 200;
const wakeHolders = statement(
  "wake_holders",
  "Wakes the holders of runs that were asked to stop.",
  () => "select set_config('synchronous_commit', 'off', true), pg_notify($1, x) from unnest($2::text[]) x",
);

/** The runs whose holders a payload wakes; null: it wakes nodes. */
export function readCall(payload: string): readonly string[] | null {
  return payload.startsWith(CALLED) ? payload.slice(CALLED.length).split(",") : null;
}

/** No groups and no news: look at any group. */
export function readWake(payload: string): { readonly groupIds: readonly number[]; readonly news: boolean } {
  const news = payload.startsWith(NEWS);
  const groups = news ? payload.slice(NEWS.length) : payload;
  return { groupIds: groups === "" ? [] : groups.split(",").map(Number), news };
}

export class WakeSender {
  readonly #db: Database;
  readonly #channel: string;
  #pending = new Set<number>();
  #sending = false;
  /** By the time to wake, in steps: the groups, and how to cancel it. */
  readonly #later = new Map<number, { readonly groups: Set<number>; readonly cancel: () => void }>();

  readonly #on: boolean;
  readonly #attendees: ReadonlySet<Attendee>;

  /** `attendees`: the nodes of this process. */
  constructor(db: Database, attendees: ReadonlySet<Attendee>) {
    this.#db = db;
    this.#on = db.notifies;
    this.#attendees = attendees;
    this.#channel = channelOf(db.dialect.schema);
    db.wakeups.on("called", (runIds) => this.call(runIds));
    db.wakeups.on("work", (groupIds, inMs) => {
      this.send(groupIds.filter((_, i) => !((inMs[i] ?? 0) > 0)));
      for (const [i, id] of groupIds.entries()) if ((inMs[i] ?? 0) > 0) this.sendIn(inMs[i]!, id);
    });
  }

  /** Behind a pooler no process can listen, and without NOTIFY none is notified: the nodes of this process are woken directly. */
  get #deaf(): Iterable<Attendee> {
    return this.#db.pooled || !this.#on ? this.#attendees : [];
  }

  send(groupIds: Iterable<number>): void {
    const ids = [...groupIds];
    if (ids.length > 0) for (const { onWake } of this.#deaf) onWake(ids);
    if (!this.#on) return;
    for (const id of ids) this.#pending.add(id);
    if (this.#sending || this.#pending.size === 0) return;
    this.#sending = true;
    this.#db.inBackground(() => this.#send());
  }

  /**
   * A wake to send right behind the statement that makes work in these groups, without waiting for its answer; null where that is
   * not possible. Should that statement fail, nodes look in vain.
   */
  behind(groupIds: Iterable<number>): Behind | null {
    if (!this.#on || !this.#db.pipelined) return null;
    return { statement: wakeNodes, values: [this.#channel, payloadOf(new Set(groupIds))] };
  }

  /** The holders of these runs read their inboxes. */
  call(runIds: readonly string[]): void {
    if (runIds.length === 0) return;
    for (const { onCalled } of this.#deaf) onCalled?.(runIds);
    if (!this.#on) return;
    const payloads = Array.from({ length: Math.ceil(runIds.length / MOST_CALLED) }, (_, i) => {
      return `${CALLED}${runIds.slice(i * MOST_CALLED, (i + 1) * MOST_CALLED).join(",")}`;
    });
    this.#db.inBackground(async () => void (await this.#db.run(wakeHolders, [this.#channel, payloads])));
  }

  /** Something is left for housekeeping, on any node. */
  sendNews(): void {
    if (this.#on) this.#db.inBackground(async () => void (await this.#db.run(wakeNodes, [this.#channel, NEWS])));
  }

  /** In `inMs`, for runs that may start then; times that are close are joined. */
  sendIn(inMs: number, groupId: number): void {
    const { world } = this.#db;
    const step = Math.ceil((world.monotonicNow() + inMs) / LATER_STEP_MS);
    const known = this.#later.get(step);
    known?.groups.add(groupId);
    if (known) return;
    const groups = new Set([groupId]);
    const cancel = world.after(step * LATER_STEP_MS - world.monotonicNow(), () => {
      this.#later.delete(step);
      this.send(groups);
    });
    this.#later.set(step, { groups, cancel });
  }

  close(): void {
    for (const { cancel } of this.#later.values()) cancel();
    this.#later.clear();
  }

  /** In the caller's transaction: delivered when it commits. `news`: there is something for housekeeping. */
  async sendInTransaction(tx: Transaction, groupIds: Iterable<number>, news: boolean): Promise<void> {
    if (!this.#on) return;
    const payload = `${news ? NEWS : ""}${payloadOf(new Set(groupIds))}`;
    await this.#db.run(wakeIn, [this.#channel, payload], { tx });
  }

  async #send(): Promise<void> {
    try {
      while (this.#pending.size > 0) {
        const groups = this.#pending;
        this.#pending = new Set();
        await this.#db.run(wakeNodes, [this.#channel, payloadOf(groups)]);
      }
    } finally {
      this.#sending = false;
    }
  }
}

function payloadOf(groups: ReadonlySet<number>): string {
  return groups.size > MOST_GROUPS ? "" : [...groups].join(",");
}

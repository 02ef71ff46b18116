// The connection on which a process attends: lost with a restart of the database, with a cut that resets, or alone. It is reopened
// as soon as possible. The database forgets it at once; the process notices a moment later.

import { sleep } from "../kernel/world.js";
import type { Attendance, Attendee } from "../store/contract/node/attend.js";
import type { Link } from "./link.js";

export class RemotePresence {
  readonly #link: Link;
  readonly #attendee: Attendee;
  #session: Attendance | null = null;
  #left = false;

  constructor(link: Link, attendee: Attendee) {
    this.#link = link;
    this.#attendee = attendee;
  }

  async open(): Promise<Attendance> {
    await this.#connect();
    return {
      seen: true,
      again: () => this.#link.call("attend again", async () => this.#session?.again()),
      leave: async () => {
        this.#left = true;
        await this.#link.call("leave", async () => this.#end());
      },
    };
  }

  /** The server has dropped the session; the process, if it lives, hears of it. */
  drop(): void {
    if (this.#session === null) return;
    this.#end();
    this.#link.notice(() => void this.#reopen());
  }

  async #connect(): Promise<void> {
    const { incarnation, onWake, onCalled, onNews, onSkipped } = this.#attendee;
    if (this.#link.cable.absent) throw this.#link.refusal("attend");
    await this.#link.call("attend", async () => {
      // A connection ends with its process, also one that the server accepts a moment later.
      if (!this.#link.world.alive) return;
      this.#end();
      this.#session = await this.#link.database.store.attend({
        incarnation,
        onWake: (groupIds) => this.#link.push(() => onWake(groupIds)),
        onCalled: (runIds) => this.#link.push(() => onCalled?.(runIds)),
        onNews: () => this.#link.push(() => onNews?.()),
        onSkipped: (runs) => this.#link.push(() => onSkipped?.(runs)),
      });
      this.#link.cable.presence = this;
      this.#link.database.onPresence(incarnation, true);
    });
  }

  #end(): void {
    if (this.#session === null) return;
    void this.#session.leave();
    this.#session = null;
    this.#link.database.onPresence(this.#attendee.incarnation, false);
  }

  async #reopen(): Promise<void> {
    const { world, patienceMs } = this.#link;
    this.#attendee.onPresence?.(false);
    while (!this.#left) {
      try {
        await this.#connect();
        return this.#attendee.onPresence?.(true);
      } catch {
        await sleep(world, patienceMs * (0.5 + world.random() / 2));
      }
    }
  }
}

// Tracks what a node knows of its own presence: whether other nodes may count it as gone by now, and which claims are in doubt.

import type { Settings } from "../../kernel/setting/setting-options.js";
import type { World } from "../../kernel/world.js";
import { SILENT_HEARTBEATS } from "../../store/contract/node/presence.js";

/** Others wait for all of the silence, from when a sign of life arrived; this node counts from when it was sent, and less. */
const CAUTION = 0.9;
/** Signs of life in the time after which a node that is missing is gone. */
const BEATS = 4;

export class OwnPresence {
  readonly #world: World;
  readonly #patienceMs: number;
  #attends = false;
  #held = true;
  #answered = true;
  /** When the last sign of life was sent that the store has accepted. */
  #confirmedAt: number;
  #beatAt = Number.NEGATIVE_INFINITY;
  /** Claims that were confirmed before this may have been reclaimed since. */
  #doubtBefore = Number.NEGATIVE_INFINITY;

  constructor(world: World, { presenceGraceMs, housekeepingMs }: Pick<Settings, "presenceGraceMs" | "housekeepingMs">) {
    this.#world = world;
    this.#patienceMs = Math.max(presenceGraceMs, SILENT_HEARTBEATS * housekeepingMs);
    this.#confirmedAt = world.monotonicNow();
  }

  /** From now on other nodes judge this node by its presence. */
  attend(): void {
    this.#attends = true;
    this.#confirmedAt = this.#world.monotonicNow();
  }

  /** Whether this process holds its presence, as far as it knows. */
  get held(): boolean {
    return this.#held;
  }

  /** The connection that holds it ended, or is back. */
  change(held: boolean): void {
    this.#note(this.#world.monotonicNow());
    this.#held = held;
  }

  /** A heartbeat is sent. */
  heartbeatSent(): void {
    const now = this.#world.monotonicNow();
    this.#note(now);
    this.#beatAt = now;
  }

  /** A heartbeat was answered. */
  heartbeatAnswered(sentAt: number): void {
    this.confirmed(sentAt);
    this.#answered = true;
  }

  /** A heartbeat had no answer: whether the presence is held is not known either. */
  unanswered(): void {
    this.#note(this.#world.monotonicNow());
    this.#answered = false;
  }

  /** A heartbeat or a renewal of this node has reached the store. */
  confirmed(sentAt: number): void {
    this.#note(sentAt);
    this.#confirmedAt = Math.max(this.#confirmedAt, sentAt);
  }

  /** How soon the next sign of life is due; null: with the next heartbeat. */
  get nextBeatMs(): number | null {
    return this.#isConfirmed ? null : this.#patienceMs / BEATS;
  }

  /** After a commit that was accepted: whether a heartbeat now would say more than the last one. */
  get wantsBeat(): boolean {
    return !this.#isConfirmed && this.#world.monotonicNow() - this.#beatAt >= this.#patienceMs / BEATS;
  }

  /** Claims that were last confirmed before this may belong to others by now. */
  get doubtBefore(): number {
    return this.#isMissed ? Number.POSITIVE_INFINITY : this.#doubtBefore;
  }

  get #isConfirmed(): boolean {
    return !this.#attends || (this.#held && this.#answered);
  }

  /**
   * As far as this node knows, other nodes have had no sign of life from it for long enough to count it as gone: its presence
   * is lost, or its process was stopped for that long and has not yet learnt what happened to its presence.
   */
  get #isMissed(): boolean {
    const now = this.#world.monotonicNow();
    const isLong = (since: number) => now - since >= CAUTION * this.#patienceMs;
    return this.#attends && isLong(this.#confirmedAt) && (!this.#isConfirmed || isLong(this.#beatAt));
  }

  #note(at: number): void {
    if (this.#isMissed) this.#doubtBefore = Math.max(this.#doubtBefore, at);
  }
}

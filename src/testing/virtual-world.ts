// A world whose time a test advances by hand. Timers fire in order, and everything that is ready runs between two of
// them.

import { setImmediate } from "node:timers";
import { uuidv7 } from "../kernel/id.js";
import type { World } from "../kernel/world.js";

interface Timer {
  readonly dueAt: number;
  readonly callback: () => void;
}

/** Options of `VirtualWorld`. */
export interface VirtualWorldOptions {
  /** The wall clock's first value. @default noon of 1 January 2030, UTC */
  readonly startAt?: number;
  /** Where chance begins: tokens, ids and random numbers repeat with it. @default 1 */
  readonly seed?: number;
}

/** Clock, timers and chance of a test: time passes only by `advance`. */
export class VirtualWorld implements World {
  /** What `faultPoint` does; throw or wait in here to break the code that passes. */
  onFaultPoint: (name: string) => void | Promise<void> = () => {};
  /** Ids in a fixed order, by the seed. */
  readonly id: () => string;
  readonly #startAt: number;
  readonly #timers = new Set<Timer>();
  #elapsedMs = 0;
  #openTurns = 0;
  #chance: number;

  constructor({ startAt = Date.UTC(2030, 0, 1, 12), seed = 1 }: VirtualWorldOptions = {}) {
    this.#startAt = startAt;
    this.#chance = seed >>> 0;
    this.id = uuidv7(
      () => this.wallNow(),
      (size) => Uint8Array.from({ length: size }, () => this.random() * 256),
    );
  }

  /** Moves time on, firing every timer on the way at its moment. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsedMs + ms;
    await this.settle();
    while (this.fireNext(until)) await this.settle();
    this.#elapsedMs = Math.max(this.#elapsedMs, until);
  }

  /** Fires the next timer that is due by `until`, on the monotonic clock, at its moment. False: there is none. */
  fireNext(until: number): boolean {
    const timer = this.#nextDue(until);
    if (!timer) return false;
    this.#timers.delete(timer);
    this.#elapsedMs = Math.max(this.#elapsedMs, timer.dueAt);
    timer.callback();
    return true;
  }

  /** Moves time on as a process experiences it that was stopped or blocked: nothing ran meanwhile. */
  block(ms: number): void {
    this.#elapsedMs += ms;
  }

  /** Lets everything run that waits for no timer. */
  async settle(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#openTurns > 0);
  }

  /** Timers that are set and have not fired. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Milliseconds since 1970, as a machine's clock shows them. */
  wallNow(): number {
    return this.#startAt + this.#elapsedMs;
  }

  /** Milliseconds that only grow. */
  monotonicNow(): number {
    return this.#elapsedMs;
  }

  /** mulberry32: 32 bits of state, good enough to spread things. */
  random(): number {
    this.#chance = (this.#chance + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#chance ^ (this.#chance >>> 15), 1 | this.#chance);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A random token, by the seed. */
  token(): string {
    const hex = Array.from({ length: 32 }, () => Math.floor(this.random() * 16).toString(16)).join("");
    const variant = "89ab"[Math.floor(this.random() * 4)];
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  /** Calls back after this time. Returns a function that prevents it. */
  after(ms: number, callback: () => void): () => void {
    const timer = { dueAt: this.#elapsedMs + Math.max(ms, 0), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets promises that are ready continue. */
  async turn(): Promise<void> {
    this.#openTurns++;
    await new Promise((resolve) => setImmediate(resolve));
    this.#openTurns--;
  }

  /** Where a test makes the code fail or wait. */
  faultPoint(name: string): void | Promise<void> {
    return this.onFaultPoint(name);
  }

  /** Of timers due at the same moment the one that was set first. */
  #nextDue(until: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt <= until && (!next || timer.dueAt < next.dueAt)) next = timer;
    }
    return next;
  }
}

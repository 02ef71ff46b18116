// Drives a test: lets everything run that is ready, and moves time only while everything waits.

import { HoldfastError } from "../../kernel/error.js";
import { systemWorld } from "../../kernel/system-world.js";
import { sleep } from "../../kernel/world.js";
import type { Tables } from "../../store/memory/table/tables.js";
import type { VirtualWorld } from "../virtual-world.js";
import { anyCanMove, fingerprint, nextDueMs } from "./next-due.js";

/** What the test waits for does not happen. The message says what every run waits for. */
export class TestStuck extends HoldfastError {
  readonly code = "TEST_STUCK";
}

export interface DriverOptions {
  readonly clock: VirtualWorld;
  readonly tables: Tables;
  /** Virtual: within this time, every loop of a node has looked once. */
  readonly roundMs: number;
  /** Virtual: what could move and has not done so for this long does not move at all. */
  readonly stallMs: number;
  /** Real: how long time is frozen for user code that is under way. */
  readonly patienceMs: number;
  /** Real: how long one wait may take in addition. */
  readonly giveUpMs: number;
  /** Monotonic: moments at which a call of the test itself continues. */
  readonly moments: () => Iterable<number>;
  /** Answers what runs wait for, as the test's stubs say. True: something was answered. */
  readonly answer: () => Promise<boolean>;
  /** What every run waits for, a line each. */
  readonly explain: () => string;
}

interface Waiter {
  readonly isDone: () => boolean;
  /** Monotonic: the wait ends then. */
  readonly until: number;
  readonly end: (error?: unknown) => void;
}

interface Flight {
  readonly frozenUntil: number;
}

const REAL_PAUSE_MS = 1;
/** Virtual: how long every single timer fires after a change; what looks less often is reached by a leap. */
const LONGEST_QUIET_MS = 10_000;
const LOOK_EVERY_MS = 1_000;

export class Driver {
  readonly #options: DriverOptions;
  readonly #real = systemWorld();
  readonly #waiters = new Set<Waiter>();
  readonly #flights = new Set<Flight>();
  #pumping = false;
  /** Real milliseconds that the current wait has taken, without those for user code. */
  #spentMs = 0;
  /** Monotonic: until then loops may still look at the last change. */
  #quietAt = 0;
  /** Since the last change, every loop of a node was made to look. */
  #leapt = false;
  #seen = "";
  #seenAt = 0;
  #changedAt = 0;

  constructor(options: DriverOptions) {
    this.#options = options;
  }

  /** Moves time until the promise settles. */
  async drive<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const settled = promise.finally(() => {
      isDone = true;
    });
    settled.catch(() => {});
    await this.until(() => isDone);
    return settled;
  }

  advance(ms: number): Promise<void> {
    return this.#wait(() => false, this.#options.clock.monotonicNow() + ms);
  }

  until(isDone: () => boolean): Promise<void> {
    return this.#wait(isDone, Number.POSITIVE_INFINITY);
  }

  /** Something real is under way: time is frozen for it, up to the patience. */
  working<T>(work: Promise<T>, patienceMs: number = this.#options.patienceMs): Promise<T> {
    const flight = { frozenUntil: this.#real.monotonicNow() + patienceMs };
    this.#flights.add(flight);
    const landed = () => void this.#flights.delete(flight);
    work.then(landed, landed);
    return work;
  }

  #wait(isDone: () => boolean, until: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (error?: unknown) => (error === undefined ? resolve() : reject(error));
      this.#waiters.add({ isDone, until, end });
      void this.#pump();
    });
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    this.#spentMs = 0;
    try {
      for (;;) {
        const startedAt = this.#real.monotonicNow();
        await this.#options.clock.settle();
        const isAtEnd = this.#fireAtEnd();
        if (!isAtEnd) this.#release();
        if (this.#waiters.size === 0) return;
        const isReal = !isAtEnd && (await this.#move());
        if (!isReal) this.#spentMs += this.#real.monotonicNow() - startedAt;
      }
    } catch (error) {
      for (const waiter of this.#waiters) waiter.end(error);
      this.#waiters.clear();
    } finally {
      this.#pumping = false;
    }
  }

  /** A wait ends after what is due at its last moment, not before. False: nothing is, or it takes too long. */
  #fireAtEnd(): boolean {
    const { clock, giveUpMs } = this.#options;
    const now = clock.monotonicNow();
    const isEnd = [...this.#waiters].some(({ until, isDone }) => until <= now && !isDone());
    return isEnd && this.#spentMs <= giveUpMs && clock.fireNext(now);
  }

  #release(): void {
    const now = this.#options.clock.monotonicNow();
    for (const waiter of [...this.#waiters]) {
      if (!waiter.isDone() && waiter.until > now) continue;
      this.#waiters.delete(waiter);
      this.#spentMs = 0;
      waiter.end();
    }
  }

  /** One thing: an answer, a moment of real time, a timer, or a jump. True: real time passed for user code. */
  async #move(): Promise<boolean> {
    const { clock, tables, answer, giveUpMs } = this.#options;
    if (await answer()) return false;
    const realNow = this.#real.monotonicNow();
    if ([...this.#flights].some(({ frozenUntil }) => frozenUntil > realNow)) {
      await sleep(this.#real, REAL_PAUSE_MS);
      return true;
    }
    if (this.#spentMs > giveUpMs) throw this.#stuck(`It took more than ${giveUpMs} ms of real time.`);
    const now = clock.monotonicNow();
    const limit = Math.min(...[...this.#waiters].map(({ until }) => until));
    this.#look(now);
    const isStalled = now > this.#changedAt + this.#options.stallMs && this.#flights.size === 0;
    if (anyCanMove(tables) && !isStalled) {
      this.#stir(now);
      if (clock.fireNext(limit)) return false;
    } else if (now < this.#quietAt && clock.fireNext(Math.min(limit, this.#quietAt))) return false;
    this.#jump(limit, isStalled);
    return false;
  }

  /** Notes when something last changed. */
  #look(now: number): void {
    if (now < this.#seenAt + LOOK_EVERY_MS && this.#seen !== "") return;
    this.#seenAt = now;
    const seen = fingerprint(this.#options.tables);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#changedAt = now;
    this.#stir(now);
  }

  #stir(now: number): void {
    this.#quietAt = now + Math.min(this.#options.roundMs, LONGEST_QUIET_MS);
    this.#leapt = false;
  }

  /** Everything waits: time moves to the next moment that counts, and all timers until then fire there. */
  #jump(limit: number, isStalled: boolean): void {
    const { clock, tables, moments, roundMs } = this.#options;
    const now = clock.monotonicNow();
    const dueMs = nextDueMs(tables);
    const due = Math.min(dueMs === null ? Number.POSITIVE_INFINITY : now + dueMs - clock.wallNow(), ...moments());
    const leap = this.#leapt || roundMs <= LONGEST_QUIET_MS ? Number.POSITIVE_INFINITY : now + roundMs;
    if (Math.min(due, leap, limit) === Number.POSITIVE_INFINITY) {
      throw this.#stuck(isStalled ? "Nothing works on what could continue." : "Nothing happens any more.");
    }
    const until = Math.min(due, leap, limit);
    clock.block(until - now);
    // As if their heartbeats had continued.
    for (const row of tables.nodes.values()) {
      if (tables.presence.held.has(row.incarnation)) row.seenAtUs = tables.nowUs();
    }
    this.#stir(until);
    this.#leapt = until === leap;
  }

  #stuck(why: string): TestStuck {
    const { clock, explain } = this.#options;
    return new TestStuck(`${why} It is ${new Date(clock.wallNow()).toISOString()}.\n${explain()}`);
  }
}

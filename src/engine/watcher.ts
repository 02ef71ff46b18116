// The watcher looks at everything that callers wait for: one statement for all of them, at a bounded rate, whatever the number of callers.

import { Loop } from "../kernel/loop.js";
import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import { originOf } from "../telemetry/store-calls.js";

/** Awaited before each further statement of one look, so that it keeps to the rate, too. */
export type Pace = () => Promise<void>;

export interface WatcherOptions<Seen> {
  readonly world: World;
  /** Between the first look and the second; each later pause is longer, up to a second. */
  readonly firstPauseMs: number;
  /** Answers are in the order of the keys. */
  readonly look: (keys: readonly string[], pace: Pace) => Promise<readonly Seen[]>;
}

export interface Waiter<Seen> {
  /** Called after each look. Returns true for news: the next look comes early again. */
  readonly onSeen: (seen: Seen) => boolean;
  readonly onFailed: (error: unknown) => void;
  /** Called instead of a look when this process has changed it, for a waiter that then reads it anyway. */
  readonly onWoken?: () => void;
}

interface Watched<Seen> {
  readonly waiters: Set<Waiter<Seen>>;
  /** The pause before the next look, and when that look is due. */
  pauseMs: number;
  dueAt: number;
  /** A look is under way, and something happened since it was sent. */
  isLooking: boolean;
  isStale: boolean;
}

const LONGEST_PAUSE_MS = 1_000;
/** One statement reads at most this many keys. */
const BATCH = 2_000;
/** Up to this many keys, each is looked at when it is due, as if it were alone. */
const FEW = 4;
/** With more, statements are this far apart: at most 15 a second. */
const GAP_MS = 70;

export class Watcher<Seen> {
  readonly #options: WatcherOptions<Seen>;
  readonly #watched = new Map<string, Watched<Seen>>();
  readonly #loop: Loop;
  /** Monotonic: when the last statement was sent. */
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(options: WatcherOptions<Seen>) {
    this.#options = options;
    const { world } = options;
    this.#loop = new Loop({ world, round: () => this.#round(), onError: () => LONGEST_PAUSE_MS });
    this.#loop.start(Number.POSITIVE_INFINITY);
  }

  /** The first look comes at once. Returns a function that ends it. */
  watch(key: string, waiter: Waiter<Seen>): () => void {
    const now = this.#options.world.monotonicNow();
    const watched = this.#watched.get(key) ?? {
      waiters: new Set(),
      pauseMs: 0,
      dueAt: now,
      isLooking: false,
      isStale: false,
    };
    watched.waiters.add(waiter);
    this.#watched.set(key, watched);
    this.#hasten(watched);
    return () => {
      watched.waiters.delete(waiter);
      if (watched.waiters.size > 0 || this.#watched.get(key) !== watched) return;
      this.#watched.delete(key);
      if (this.#watched.size === 0) this.#loop.rest();
    };
  }

  /** This process has changed it: looks now instead of soon. Does nothing when no caller waits for it. */
  wake(key: string): void {
    this.announce(key);
    const watched = this.#watched.get(key);
    if (watched) this.#hasten(watched);
  }

  /** The same without a look: only for waiters with `onWoken`. */
  announce(key: string): void {
    const watched = this.#watched.get(key);
    if (watched) for (const { onWoken } of [...watched.waiters]) onWoken?.();
  }

  #hasten(watched: Watched<Seen>): void {
    watched.pauseMs = 0;
    watched.dueAt = this.#options.world.monotonicNow();
    // What is under way may have been sent too early to see it.
    if (watched.isLooking) watched.isStale = true;
    this.#loop.wake();
  }

  #earliest(dueAt: number): number {
    return this.#watched.size > FEW ? Math.max(dueAt, this.#lastAt + GAP_MS) : dueAt;
  }

  async #round(): Promise<number> {
    const { world } = this.#options;
    const tooEarlyMs = this.#earliest(world.monotonicNow()) - world.monotonicNow();
    if (tooEarlyMs > 0) return tooEarlyMs;
    await this.#look(this.#due());
    let dueAt = Number.POSITIVE_INFINITY;
    for (const watched of this.#watched.values()) if (watched.dueAt < dueAt) dueAt = watched.dueAt;
    return this.#earliest(dueAt) - world.monotonicNow();
  }

  /** What is due now or soon, the longest overdue first. */
  #due(): readonly (readonly [string, Watched<Seen>])[] {
    const now = this.#options.world.monotonicNow();
    // Merged with what is due: a look that comes a little early costs nothing.
    const due = [...this.#watched].filter(([, { dueAt, pauseMs }]) => dueAt - pauseMs / 2 <= now);
    return due.length <= BATCH ? due : due.sort(([, a], [, b]) => a.dueAt - b.dueAt).slice(0, BATCH);
  }

  async #look(due: readonly (readonly [string, Watched<Seen>])[]): Promise<void> {
    const { world, look } = this.#options;
    if (due.length === 0) return;
    for (const [, watched] of due) watched.isLooking = true;
    this.#lastAt = world.monotonicNow();
    const keys = due.map(([key]) => key);
    const answer = await look(keys, () => this.#pace()).then(
      (seen) => ({ seen }),
      (error: unknown) => ({ error }),
    );
    for (const [i, [, watched]] of due.entries()) {
      let isNews = false;
      for (const { onSeen, onFailed } of [...watched.waiters]) {
        if ("error" in answer) onFailed(answer.error);
        else isNews = onSeen(answer.seen[i]!) || isNews;
      }
      this.#postpone(watched, isNews);
    }
  }

  #postpone(watched: Watched<Seen>, isNews: boolean): void {
    const { world, firstPauseMs } = this.#options;
    const { pauseMs, isStale } = watched;
    watched.isLooking = false;
    watched.isStale = false;
    if (isStale) return;
    watched.pauseMs = isNews || pauseMs === 0 ? firstPauseMs : Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
    watched.dueAt = world.monotonicNow() + watched.pauseMs;
  }

  async #pace(): Promise<void> {
    const { world } = this.#options;
    const leftMs = this.#earliest(world.monotonicNow()) - world.monotonicNow();
    if (leftMs > 0) await new Promise<void>((resolve) => world.after(leftMs, resolve));
    this.#lastAt = world.monotonicNow();
  }
}

/** Returns the same value for the same store and world: all clients and nodes of a process that use a store share it. */
export function sharedBy<T>(make: (store: Store, world: World) => T): (store: Store, world: World) => T {
  const made = new WeakMap<Store, WeakMap<World, T>>();
  return (store, world) => {
    const origin = originOf(store);
    const known = made.get(origin) ?? new WeakMap<World, T>();
    const value = known.get(world) ?? make(origin, world);
    made.set(origin, known.set(world, value));
    return value;
  };
}

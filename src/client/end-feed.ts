// The ends of runs of an env, as a feed from a cursor: all watchers of a process share one poll per store and env.

import { sharedBy } from "../engine/watcher.js";
import { InvalidInput } from "../kernel/error.js";
import { Loop } from "../kernel/loop.js";
import { sleep, type World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import type { EndedRun } from "../store/contract/view/views.js";

/** Between two statements of a feed, whatever the number of watchers: at most ten a second. */
const GAP_MS = 100;
const LONGEST_PAUSE_MS = 1_000;
const PAGE = 500;
/** An end that is committed this long after its time is still found. */
const OVERLAP_MS = 10_000;

export class EndFeed {
  readonly #store: Store;
  readonly #world: World;
  readonly #env: string;
  readonly #followers = new Set<(ends: readonly EndedRun[]) => void>();
  /** Of the last `OVERLAP_MS`: those that were passed on, with their times. */
  readonly #seen = new Map<string, number>();
  readonly #loop: Loop;
  #place: string | null = null;
  #pauseMs = GAP_MS;
  /** Statements follow each other: the next one waits for this. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(store: Store, world: World, env: string) {
    this.#store = store;
    this.#world = world;
    this.#env = env;
    this.#loop = new Loop({ world, round: () => this.#round(), onError: () => LONGEST_PAUSE_MS });
    this.#loop.start(Number.POSITIVE_INFINITY);
  }

  /** Passes on what ends from now on. Returns a function that ends it. */
  follow(onEnds: (ends: readonly EndedRun[]) => void): () => void {
    this.#followers.add(onEnds);
    if (this.#followers.size === 1) this.#loop.wake();
    return () => {
      this.#followers.delete(onEnds);
      if (this.#followers.size > 0) return;
      this.#loop.rest();
      this.#place = null;
      this.#seen.clear();
    };
  }

  /** What ended after a place; without one: where a feed from now on begins. */
  read(after: string | undefined): Promise<{ readonly rows: readonly EndedRun[]; readonly next: string }> {
    const reading = this.#line.then(() =>
      this.#store.views.ended({ env: this.#env, limit: PAGE, ...(after !== undefined && { after }) }),
    );
    this.#line = reading.catch(() => {}).then(() => sleep(this.#world, GAP_MS));
    return reading;
  }

  async #round(): Promise<number> {
    this.#place ??= (await this.read(undefined)).next;
    let news = 0;
    let after = overlapOf(this.#place);
    for (let full = true; full; ) {
      const { rows, next } = await this.read(after);
      const fresh = rows.filter(({ place }) => !this.#seen.has(place));
      for (const { place } of fresh) this.#seen.set(place, usOf(place));
      if (fresh.length > 0) for (const onEnds of [...this.#followers]) onEnds(fresh);
      news += fresh.length;
      full = rows.length === PAGE;
      after = next;
      if (rows.length > 0 && usOf(next) > usOf(this.#place)) this.#place = next;
    }
    const oldest = usOf(this.#place) - OVERLAP_MS * 1000;
    for (const [place, us] of this.#seen) if (us < oldest) this.#seen.delete(place);
    this.#pauseMs = news > 0 ? GAP_MS : Math.min(this.#pauseMs * 1.5, LONGEST_PAUSE_MS);
    return this.#pauseMs;
  }
}

function usOf(place: string): number {
  const us = Number(place.split("/")[0]);
  if (!Number.isSafeInteger(us)) throw new InvalidInput("after", "must be the `cursor` of an event");
  return us;
}

/** Where to read again, so that what was committed late is found. */
export function overlapOf(place: string): string {
  return `${usOf(place) - OVERLAP_MS * 1000}/00000000-0000-0000-0000-000000000000`;
}

const feeds = sharedBy((store, world) => {
  const byEnv = new Map<string, EndFeed>();
  return (env: string): EndFeed => {
    const feed = byEnv.get(env) ?? new EndFeed(store, world, env);
    byEnv.set(env, feed);
    return feed;
  };
});

export const endFeed = (store: Store, world: World, env: string): EndFeed => feeds(store, world)(env);

// Follows a run through its journal, from a cursor, from any process: looks often while there is news, seldom while there is not.

import type { Codecs } from "../kernel/codecs.js";
import { isEnded, type RunState } from "../kernel/run-state.js";
import { sleep, type World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import { type RunEvent, runEvents } from "./run-event.js";

export interface WatchOptions {
  /** The `seq` of the last event you have seen. Default: from the start. */
  readonly after?: number;
  /** Ends the loop from outside, also while it waits for news. */
  readonly signal?: AbortSignal;
}

export interface WatchParts {
  readonly store: Store;
  readonly codecs: Codecs;
  readonly world: World;
  /** Calls back when this process has written to the run. Answers a function that ends it. */
  readonly nearby: ((runId: string, look: () => void) => () => void) | undefined;
}

const PAGE = 200;
const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 1_000;

/**
 * Ends with the run, or at once when the cursor stands at the end of an ended one. A run that was opened again goes on.
 * What belongs to an earlier generation than the one the run is in is not told: it may be pruned.
 */
export async function* watchRun(
  runId: string,
  { store, codecs, world, nearby }: WatchParts,
  { after = 0, signal }: WatchOptions,
): AsyncGenerator<RunEvent, "ended" | "aborted" | "unknown"> {
  const bell = new Bell(world, signal);
  const leave = nearby?.(runId, () => bell.ring());
  try {
    let cursor = after;
    for (let pauseMs = FIRST_LOOK_MS, first = true; ; first = false) {
      if (signal?.aborted) return "aborted";
      const page = await store.journal.read(runId, { after: cursor, limit: PAGE });
      if (!page) return "unknown";
      for (const entry of page.entries) {
        cursor = entry.seq;
        yield* runEvents(entry, codecs);
      }
      const last = page.entries.at(-1);
      if (last && isEnded(last.kind as RunState) && last.seq >= page.seq) return "ended";
      if (first && !last && isEnded((await store.runs.get(runId))?.state ?? "dead")) return "ended";
      pauseMs = last ? FIRST_LOOK_MS : Math.min(pauseMs * 1.5, LONGEST_LOOK_MS);
      if (!last || last.seq >= page.seq) await bell.wait(pauseMs);
    }
  } finally {
    leave?.();
  }
}

/** A pause that news or the caller's signal cut short; news that came just before count. */
class Bell {
  readonly #world: World;
  readonly #signal: AbortSignal | undefined;
  #rung = false;
  #wake: AbortController | null = null;

  constructor(world: World, signal: AbortSignal | undefined) {
    this.#world = world;
    this.#signal = signal;
  }

  ring(): void {
    this.#rung = true;
    this.#wake?.abort("news");
  }

  async wait(ms: number): Promise<void> {
    if (!this.#rung) {
      this.#wake = new AbortController();
      const signals = [this.#wake.signal, ...(this.#signal ? [this.#signal] : [])];
      await sleep(this.#world, ms, AbortSignal.any(signals)).catch(() => {});
      this.#wake = null;
    }
    this.#rung = false;
  }
}

// Follows a run through its journal, from a cursor, from any process. While there is no news, the shared watcher looks for it.

import type { Codecs } from "../kernel/codec/codecs.js";
import { isEnded, type RunState } from "../kernel/run/run-state.js";
import type { Store } from "../store/contract/store.js";
import { type RunEvent, runEvents } from "./run-event.js";
import type { RunWatcher } from "./run-watcher.js";

export interface WatchOptions {
  /** The `seq` of the last event you have seen. Default: from the start. */
  readonly after?: number;
  /** Ends the loop from outside, also while it waits for news. */
  readonly signal?: AbortSignal;
}

export interface WatchParts {
  readonly store: Store;
  readonly codecs: Codecs;
  readonly watcher: RunWatcher;
}

const PAGE = 200;

/**
 * Ends with the run, or at once when the cursor stands at the end of an ended one. A run that was opened again goes on.
 * What belongs to an earlier generation than the one the run is in is not told: it may be pruned.
 */
export async function* watchRun(
  runId: string,
  { store, codecs, watcher }: WatchParts,
  { after = 0, signal }: WatchOptions,
): AsyncGenerator<RunEvent, "ended" | "aborted" | "unknown"> {
  let cursor = after;
  for (;;) {
    if (signal?.aborted) return "aborted";
    const page = await store.journal.read(runId, { after: cursor, limit: PAGE });
    if (!page) return "unknown";
    for (const entry of page.entries) {
      cursor = entry.seq;
      yield* runEvents(entry, codecs);
    }
    const last = page.entries.at(-1);
    if (last && isEnded(last.kind as RunState) && last.seq >= page.seq) return "ended";
    if (last && last.seq < page.seq) continue;
    if ((await watcher.untilMoved(runId, page.seq, signal)) === "ended") return "ended";
  }
}

// Follows a run through its journal, from a cursor, from any process. Between entries, the shared watcher polls.

import { FanOuts } from "../graph/fan-out.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { isEnded, type RunState } from "../kernel/run/run-state.js";
import type { Store } from "../store/contract/store.js";
import { type RunEvent, runEvents } from "./run-event.js";
import type { RunWatcher } from "./run-watcher.js";

/** Options of `watch`. */
export interface WatchOptions {
  /** The `seq` of the last event you have seen. @default from the start */
  readonly after?: number;
  /** Ends the loop from outside, also while it waits for entries. */
  readonly signal?: AbortSignal;
}

const PAGE = 200;

/**
 * Finishes when the run ends, or at once when the cursor is at the end of an ended run. Continues when the run is
 * retried. Entries of earlier generations are skipped, because they may be pruned.
 */
export async function* watchRun(
  runId: string,
  { store, codecs, watcher }: { readonly store: Store; readonly codecs: Codecs; readonly watcher: RunWatcher },
  { after = 0, signal }: WatchOptions,
): AsyncGenerator<RunEvent, "ended" | "aborted" | "unknown"> {
  const steps = new FanOuts();
  let cursor = after;
  for (;;) {
    if (signal?.aborted) return "aborted";
    const page = await store.journal.read(runId, { after: cursor, limit: PAGE });
    if (!page) return "unknown";
    for (const entry of page.entries) {
      cursor = entry.seq;
      yield* runEvents(entry, codecs, steps);
    }
    const last = page.entries.at(-1);
    if (last && isEnded(last.kind as RunState) && last.seq >= page.seq) return "ended";
    if (last && last.seq < page.seq) continue;
    if ((await watcher.untilMoved(runId, page.seq, signal)) === "ended") return "ended";
  }
}

// Archives and deletes ended runs before the retention of the store does.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { isUuid } from "../kernel/id.js";
import type { EndedState } from "../kernel/run/run-state.js";
import type { EndedRuns } from "../store/contract/run/retention.js";
import type { Store } from "../store/contract/store.js";

/** Which ended runs. */
export interface EndedFilter {
  /** Those that ended at least this long ago. */
  readonly olderThan: Duration;
  /** Only runs that ended like this. @default every ended state */
  readonly state?: EndedState | readonly EndedState[];
  /** Only runs of this program. */
  readonly program?: string;
  /** Only runs of this queue. */
  readonly queue?: string;
}

/** Options of `archive` and `prune`. */
export interface RemovalOptions {
  /** Called after each batch of at most 1,000 runs with the number so far. */
  readonly onProgress?: (runs: number) => void;
  /** Ends the call after the batch that is under way. */
  readonly signal?: AbortSignal;
}

/** Archives and deletes ended runs. */
export interface RetentionVerbs {
  /** Archives one run by its id, or all that match: they leave the lists, and their keys are free again. Returns how many. */
  archive(which: string | EndedFilter, options?: RemovalOptions): Promise<number>;
  /** Deletes ended runs with everything that belongs to them. Children of runs that still need them are kept. Returns how many. */
  prune(which: EndedFilter, options?: RemovalOptions): Promise<number>;
  /** How many runs `prune` would delete, by state. */
  count(which: EndedFilter): Promise<Readonly<Partial<Record<EndedState, number>>>>;
}

/** Runs in one call to the store. */
const BATCH = 1_000;

export function retentionIn(store: Store, env: string): RetentionVerbs {
  return {
    archive: (which, options) => inBatches((runs) => store.runs.archive(runs), endedIn(env, which), options),
    prune: (which, options) => inBatches((runs) => store.runs.prune(runs), endedIn(env, which), options),
    count: (which) => store.runs.countPrunable(endedIn(env, which)),
  };
}

function endedIn(env: string, which: string | EndedFilter): EndedRuns {
  if (typeof which === "string") {
    if (!isUuid(which))
      throw new InvalidInput("run", "must be the id of a run, or a filter such as { olderThan: '30d' }");
    return { env, endedBeforeMs: 0, runIds: [which] };
  }
  const { olderThan, state, program, queue } = which;
  return {
    env,
    endedBeforeMs: toMs(olderThan, "olderThan"),
    ...(state !== undefined && { states: [state].flat() as EndedState[] }),
    ...(program !== undefined && { program }),
    ...(queue !== undefined && { queue }),
  };
}

async function inBatches(
  take: (runs: EndedRuns & { readonly limit: number }) => Promise<number>,
  runs: EndedRuns,
  { onProgress, signal }: RemovalOptions = {},
): Promise<number> {
  let total = 0;
  for (let taken = BATCH; taken > 0 && !signal?.aborted; ) {
    taken = await take({ ...runs, limit: BATCH });
    total += taken;
    onProgress?.(total);
  }
  return total;
}

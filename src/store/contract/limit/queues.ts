// Queues: the names that runs wait under. A paused queue hands out no more runs; running ones continue.

import type { RunState } from "../../../kernel/run/run-state.js";

/** A count of waiting runs stops here for each program, a count of the other states for all of them. */
export const MOST_IN_QUEUE = 20_000;

/** A queue with what waits in it. */
export interface QueueRecord {
  /** The name of the queue. */
  readonly queue: string;
  /** Runs that have not ended, by state; of more than `MOST_IN_QUEUE`, about that many are counted. */
  readonly counts: Readonly<Partial<Record<RunState, number>>>;
  /** How long the oldest claimable run has been claimable; null when there is none. */
  readonly oldestWaitingMs: number | null;
  /** Since when, and by whom. */
  readonly paused: { readonly at: number; readonly by: string } | null;
}

export interface QueueStore {
  /** From now on no run of this queue is claimed. Pausing it again changes nothing. */
  pause(env: string, queue: string, by: string): Promise<void>;
  resume(env: string, queue: string): Promise<void>;
  /** Queues with runs that have not ended, and paused queues, by name. */
  list(env: string): Promise<readonly QueueRecord[]>;
}

// The queues of an env: paused, resumed, listed.

import type { QueueRecord } from "../store/contract/limit/queues.js";
import type { Store } from "../store/contract/store.js";

export interface Queues {
  /** Hands out no more runs of this queue, on any node; what runs goes on. */
  pause(queue: string, options?: { readonly by?: string }): Promise<void>;
  resume(queue: string): Promise<void>;
  list(): Promise<readonly QueueRecord[]>;
}

/** `by`: who pauses, unless it is said. */
export function queuesOf({ queues }: Store, env: string, by: string): Queues {
  return {
    pause: (queue, options = {}) => queues.pause(env, queue, options.by ?? by),
    resume: (queue) => queues.resume(env, queue),
    list: () => queues.list(env),
  };
}

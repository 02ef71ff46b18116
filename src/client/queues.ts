// Pauses, resumes and lists the queues of an env.

import type { QueueRecord } from "../store/contract/limit/queues.js";
import type { Store } from "../store/contract/store.js";

/** Pauses, resumes and lists the queues of an env. */
export interface Queues {
  /** No node claims runs of this queue any more; running ones continue. */
  pause(queue: string, options?: { readonly by?: string }): Promise<void>;
  /** Nodes claim runs of this queue again. */
  resume(queue: string): Promise<void>;
  /** The queues of the env with their depth and their pause. */
  list(): Promise<readonly QueueRecord[]>;
}

/** `by`: the default for who pauses. */
export function queuesOf({ queues }: Store, env: string, by: string): Queues {
  return {
    pause: (queue, options = {}) => queues.pause(env, queue, options.by ?? by),
    resume: (queue) => queues.resume(env, queue),
    list: () => queues.list(env),
  };
}

// Turns a node's options into the rules of its attempts; checked when the graph is created, so that a mistake is
// reported before anything runs.

import { type Duration, toMs } from "../kernel/duration.js";
import { type Retry, retryPolicy } from "../kernel/run/retry.js";

/** Retries and timeout of one graph node. */
export interface NodeOptions {
  /** Attempts in total, or a policy. @default 3, exponential from 1 s */
  readonly retry?: Retry;
  /** Which errors are worth another attempt. @default all but PermanentError */
  readonly retryIf?: (error: unknown) => boolean;
  /** Limit for each attempt. @default none */
  readonly timeout?: Duration;
  /**
   * The result counts even if it arrives after `signal` was aborted. @default it is dropped, and the node runs again
   */
  readonly finishOnAbort?: boolean;
}

export type AttemptRules = Readonly<ReturnType<typeof attemptRules>>;

export function attemptRules({ retry, timeout, retryIf, finishOnAbort = false }: NodeOptions) {
  return {
    policy: retryPolicy(retry, "retry of a node"),
    timeoutMs: timeout === undefined ? null : toMs(timeout, "timeout of a node"),
    ...(retryIf && { retryIf }),
    finishOnAbort,
  };
}

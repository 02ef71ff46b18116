// A node's options as the rules of its attempts; judged when the graph is made, so that a mistake is told before anything runs.

import { type Duration, toMs } from "../kernel/duration.js";
import { type Retry, type RetryPolicy, retryPolicy } from "../kernel/run/retry.js";

export interface NodeOptions {
  /** Attempts in total, or a policy. Default 3, exponential from 1 s. */
  readonly retry?: Retry;
  /** Which errors are worth another attempt. Default: all but PermanentError. */
  readonly retryIf?: (error: unknown) => boolean;
  /** Of each attempt. Default: none. */
  readonly timeout?: Duration;
  /** Its answer counts also when it arrives after the abort of `signal`. Default: it is dropped, and the node runs again. */
  readonly finishOnAbort?: boolean;
}

export interface AttemptRules {
  readonly policy: RetryPolicy;
  readonly timeoutMs: number | null;
  readonly retryIf?: (error: unknown) => boolean;
  readonly finishOnAbort: boolean;
}

export function attemptRules({ retry, timeout, retryIf, finishOnAbort = false }: NodeOptions): AttemptRules {
  return {
    policy: retryPolicy(retry, "retry of a node"),
    timeoutMs: timeout === undefined ? null : toMs(timeout, "timeout of a node"),
    ...(retryIf && { retryIf }),
    finishOnAbort,
  };
}

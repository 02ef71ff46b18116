// Options of a workflow queue, and their defaults.

import type { Codec } from "../kernel/codec/codec.js";
import { codecs } from "../kernel/codec/codecs.js";
import { envName, programName, queueName, stackName } from "../kernel/name.js";
import { retryPolicy } from "../kernel/run/retry.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import { positiveMs } from "./job-input.js";

/** Options of `workflowQueue`. */
export interface QueueOptions {
  /** The env of its runs. @default `default` */
  readonly env?: string;
  /** The stack of its runs. @default none */
  readonly stack?: string;
  /** The queue of its runs. @default `workflow-jobs` */
  readonly queue?: string;
  /** The program of its runs. @default `workflow-job` */
  readonly program?: string;
  /** How long a claim lasts without a heartbeat, unless the job specifies it. @default 300,000 */
  readonly visibilityTimeoutMs?: number;
  /** Delay before the second attempt; doubled for each further one. 0: at once. @default 1,000 */
  readonly retryBackoffMs?: number;
  /** The longest delay before another attempt. @default 300,000, or `retryBackoffMs` if that is longer */
  readonly retryBackoffMaxMs?: number;
  /** Values are written with the first codec; `json` is always readable. */
  readonly codecs?: readonly Codec[];
  /** Clock, timers and chance; for tests. */
  readonly world?: World;
}

const DEFAULT_VISIBILITY_MS = 300_000;
const DEFAULT_BACKOFF_MS = 1_000;
const DEFAULT_BACKOFF_MAX_MS = 300_000;

export type QueueSettings = Readonly<ReturnType<typeof queueSettings>>;

export function queueSettings(options: QueueOptions) {
  const { retryBackoffMs: delay = DEFAULT_BACKOFF_MS, stack } = options;
  const maxDelay = options.retryBackoffMaxMs ?? Math.max(DEFAULT_BACKOFF_MAX_MS, delay);
  return {
    group: {
      env: envName(options.env ?? "default", "env"),
      stack: stack === undefined ? null : stackName(stack, "stack"),
      queue: queueName(options.queue ?? "workflow-jobs", "queue"),
      program: programName(options.program ?? "workflow-job", "program"),
      version: null,
    },
    visibilityTimeoutMs: positiveMs(options.visibilityTimeoutMs ?? DEFAULT_VISIBILITY_MS, "visibilityTimeoutMs"),
    // No jitter: callers of such a queue rely on `min(base * 2 ** (attempt - 1), max)`.
    backoff: retryPolicy({ delay, maxDelay, jitter: 0 }, "retryBackoff"),
    codecs: codecs(options.codecs),
    world: options.world ?? systemWorld(),
  };
}

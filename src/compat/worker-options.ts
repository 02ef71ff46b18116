// Options of a worker, with the defaults its users know.

import { toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { nodeName } from "../kernel/name.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { ClaimedJob } from "./job.js";
import { positiveMs } from "./job-input.js";
import type { WorkflowQueue } from "./queue-contract.js";

/** What a handler gets next to its job. */
export interface JobContext {
  /** Aborts when the claim is lost, or when the worker stops and its grace period has ended. */
  readonly signal: AbortSignal;
  /** Aborts when the worker begins to stop: finish the current piece, then return `new HandBack()`. */
  readonly stopping: AbortSignal;
  /** Commits your statements only while this job is held under this claim: afterwards they are refused with ClaimLost. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

/** Returning acks the job, throwing nacks it; `Release` and `HandBack` are values to return or throw instead. */
export type JobHandler = (job: ClaimedJob, context: JobContext) => unknown;

/** Options of `WorkflowWorker`. */
export interface WorkerOptions {
  /** The queue that it takes jobs from. */
  readonly queue: WorkflowQueue;
  /** Works on one job. It returns when the job is done and throws when it failed. */
  readonly handler: JobHandler;
  /** Its name in claims. @default generated */
  readonly workerId?: string;
  /** Jobs at the same time. @default 1 */
  readonly concurrency?: number;
  /** How often an empty queue is polled. A slot that becomes free polls at once. @default 1,000 */
  readonly pollIntervalMs?: number;
  /** How often claims are extended. @default 60,000; for jobs with a short visibility timeout a third of that */
  readonly heartbeatIntervalMs?: number;
  /** How often expired claims are taken away. @default 30,000 */
  readonly reclaimIntervalMs?: number;
  /** How long `stop` waits for running work before it aborts it. @default 30,000 */
  readonly shutdownGracePeriodMs?: number;
}

export type WorkerSettings = Required<WorkerOptions> & { readonly world: World };

export function workerSettings(options: WorkerOptions): WorkerSettings {
  const { queue, handler, concurrency = 1 } = options;
  if (typeof handler !== "function") throw new InvalidInput("handler", "must be a function of a job and its context");
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new InvalidInput("concurrency", `must be a whole number from 1; it is ${String(concurrency)}`);
  }
  const world = queue.world ?? systemWorld();
  return {
    queue,
    world,
    handler,
    concurrency,
    workerId: nodeName(options.workerId ?? world.token(), "workerId"),
    // An interval of zero would keep the process spinning.
    pollIntervalMs: positiveMs(options.pollIntervalMs ?? 1_000, "pollIntervalMs"),
    heartbeatIntervalMs: positiveMs(options.heartbeatIntervalMs ?? 60_000, "heartbeatIntervalMs"),
    reclaimIntervalMs: positiveMs(options.reclaimIntervalMs ?? 30_000, "reclaimIntervalMs"),
    shutdownGracePeriodMs: toMs(options.shutdownGracePeriodMs ?? 30_000, "shutdownGracePeriodMs"),
  };
}

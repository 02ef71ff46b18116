// The interface of a workflow queue: what a worker needs of it. Implement it over another broker, and prove that with
// `queueConformance`.

import type { World } from "../kernel/world.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { ClaimedJob, EnqueueInput, JobRef, QueueDepth, WorkflowJob } from "./job.js";
import type { OnDeadLetter } from "./queue-parts.js";

export type HeartbeatAnswer = { readonly ok: true } | { readonly ok: false; readonly reason: "lost" };

/** The outcome for the job; false: it was not this caller's to fail. */
export type NackAnswer = "waiting" | "dead_letter" | false;

export type QueueDepthProvider = () => number | Promise<number>;

export interface WorkflowQueue {
  /** Returns the job's id. */
  enqueue(input: EnqueueInput): Promise<string>;
  /** Claims the waiting job with the lowest priority number, the oldest first. Of one `runId`, one job is active at a time. */
  dequeue(workerId: string, options?: { readonly onDeadLetter?: OnDeadLetter }): Promise<ClaimedJob | null>;
  ack(job: JobRef, workerId?: string): Promise<boolean>;
  nack(job: JobRef, error: unknown, workerId?: string): Promise<NackAnswer>;
  heartbeat(job: JobRef, extendMs?: number, workerId?: string): Promise<HeartbeatAnswer>;
  release(job: JobRef, workerId?: string): Promise<boolean>;
  /** Back to its place in the queue, at no cost. */
  handBack(job: JobRef, workerId?: string): Promise<boolean>;
  reclaimExpired(options?: { readonly onDeadLetter?: OnDeadLetter }): Promise<number>;
  getJob(jobId: string): Promise<WorkflowJob | null>;
  getQueueDepth(): Promise<QueueDepth>;
  /** Statements that are committed only while the job is held. Without it, `transaction` of a handler's context is refused. */
  transaction?<T>(job: JobRef, work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Called when a worker starts, while it works, and when it has stopped. */
  signOn?(workerId: string): Promise<void>;
  beat?(): Promise<void>;
  signOff?(workerId: string): Promise<void>;
  /** Timers of the worker; for tests. */
  readonly world?: World;
}

// The interface of a workflow queue: what a worker needs of it. Implement it over another broker, and prove that with
// `queueConformance`.

import type { World } from "../kernel/world.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { ClaimedJob, EnqueueInput, JobRef, QueueDepth, WorkflowJob } from "./job.js";
import type { OnDeadLetter } from "./queue-parts.js";

/** Whether the claim was extended. `lost`: another worker may hold the job; stop working on it. */
export type HeartbeatAnswer = { readonly ok: true } | { readonly ok: false; readonly reason: "lost" };

/** The outcome for the job; false: it was not this caller's to fail. */
export type NackAnswer = "waiting" | "dead_letter" | false;

/** Returns how many jobs wait, for a scaler of your own. */
export type QueueDepthProvider = () => number | Promise<number>;

/** A queue of workflow jobs. Implement it over another broker and prove it with `queueConformance`. */
export interface WorkflowQueue {
  /** Returns the job's id. */
  enqueue(input: EnqueueInput): Promise<string>;
  /** Claims the waiting job with the lowest priority number, the oldest first. Of one `runId`, one job is active at a time. */
  dequeue(workerId: string, options?: { readonly onDeadLetter?: OnDeadLetter }): Promise<ClaimedJob | null>;
  /** Completes the job. False: it was not this caller's to complete. */
  ack(job: JobRef, workerId?: string): Promise<boolean>;
  /** Fails the job: it waits for another attempt, or is dead-lettered. */
  nack(job: JobRef, error: unknown, workerId?: string): Promise<NackAnswer>;
  /** Extends the claim. */
  heartbeat(job: JobRef, extendMs?: number, workerId?: string): Promise<HeartbeatAnswer>;
  /** Pauses the job until a person decides. False: it was not this caller's. */
  release(job: JobRef, workerId?: string): Promise<boolean>;
  /** Back to its place in the queue, at no cost. */
  handBack(job: JobRef, workerId?: string): Promise<boolean>;
  /** Takes expired claims away and returns how many; jobs without attempts left are dead-lettered. */
  reclaimExpired(options?: { readonly onDeadLetter?: OnDeadLetter }): Promise<number>;
  /** The job with this id; null when there is none. */
  getJob(jobId: string): Promise<WorkflowJob | null>;
  /** How many jobs are in each state. */
  getQueueDepth(): Promise<QueueDepth>;
  /** Statements that are committed only while the job is held. Without it, `transaction` of a handler's context is refused. */
  transaction?<T>(job: JobRef, work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Called when a worker starts, while it works, and when it has stopped. */
  signOn?(workerId: string): Promise<void>;
  /** Called now and then while the worker works. */
  beat?(): Promise<void>;
  /** Called when the worker has stopped. */
  signOff?(workerId: string): Promise<void>;
  /** Timers of the worker; for tests. */
  readonly world?: World;
}

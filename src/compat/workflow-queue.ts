// The queue face over runs: a job is a run in a group of its own, a claim is its claim, and every verb is one fenced
// operation of the store.
//
//   waiting --dequeue--> active --ack------------> completed
//                        active --nack-----------> waiting (after a back-off), dead_letter at the last attempt
//                        active --release--------> paused --ack--> completed
//                        active --handBack-------> waiting
//                        active --reclaimExpired-> waiting, dead_letter at the last attempt
//
// Any other move answers false and changes nothing.

import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import type { Transaction } from "../store/contract/transaction.js";
import { dequeueJob } from "./dequeue-job.js";
import { enqueueJob, resumeJob } from "./enqueue-job.js";
import type { ClaimedJob, EnqueueInput, JobRef, QueueDepth, WorkflowJob } from "./job.js";
import { positiveMs } from "./job-input.js";
import { ACKED_BY, lookUpJob } from "./look-up-job.js";
import type { HeartbeatAnswer, NackAnswer, QueueDepthProvider, WorkflowQueue } from "./queue-contract.js";
import type { QueueOptions } from "./queue-options.js";
import { jobRecord, type OnDeadLetter, type QueueParts, queueParts } from "./queue-parts.js";
import { reclaimJobs } from "./reclaim-jobs.js";
import { failureEffect, renewClaim, settleJob, writeFenced } from "./settle-job.js";

/** A workflow queue over a store of Holdfast: each job is a durable run. */
export class StoreQueue implements WorkflowQueue {
  /** Clock, timers and chance. */
  readonly world: World;
  readonly #parts: QueueParts;
  #depthProvider: QueueDepthProvider | null = null;

  constructor(store: Store, options: QueueOptions) {
    this.#parts = queueParts(store, options);
    this.world = this.#parts.settings.world;
  }

  /** Returns the job's id. With your own transaction, the job exists when you commit. */
  enqueue(input: EnqueueInput, options: { readonly tx?: Transaction } = {}): Promise<string> {
    return enqueueJob(this.#parts, input, options.tx);
  }

  /** Claims the waiting job with the lowest priority number, the oldest of them first. Null: none is due. */
  dequeue(workerId: string, options: { readonly onDeadLetter?: OnDeadLetter } = {}): Promise<ClaimedJob | null> {
    return dequeueJob(this.#parts, workerId, options.onDeadLetter);
  }

  /** Done. Also ends a paused job for any caller, because it has no holder. */
  async ack(job: JobRef, workerId?: string): Promise<boolean> {
    const output = this.#parts.settings.codecs.encode(null);
    if (await settleJob(this.#parts, job, workerId, () => ({ kind: "complete", output }))) return true;
    return typeof job === "string" && workerId === undefined && this.#endPaused(job);
  }

  /** Failed: retried after a back-off, or dead-lettered at the last attempt. */
  async nack(job: JobRef, error: unknown, workerId?: string): Promise<NackAnswer> {
    let became: NackAnswer = false;
    const settled = await settleJob(this.#parts, job, workerId, ({ job: { attempt, maxAttempts } }) => {
      const effect = failureEffect(this.#parts, attempt, maxAttempts, error);
      became = effect.kind === "retry" ? "waiting" : "dead_letter";
      return effect;
    });
    return settled && became;
  }

  /** The claim lasts `extendMs` from now, or the job's visibility timeout. */
  async heartbeat(job: JobRef, extendMs?: number, workerId?: string): Promise<HeartbeatAnswer> {
    const { held: claims } = this.#parts;
    const held = claims.find(job, workerId);
    const ms = extendMs === undefined ? held?.job.visibilityTimeoutMs : positiveMs(extendMs, "extendMs");
    if (held && ms !== undefined) {
      if (await renewClaim(this.#parts, held.claim, ms)) return { ok: true };
      claims.drop(held);
    }
    return { ok: false, reason: "lost" };
  }

  /** Waits for a person: out of the queue until a resume job continues it, at no cost. */
  release(job: JobRef, workerId?: string): Promise<boolean> {
    return settleJob(this.#parts, job, workerId, () => ({ kind: "pause" }));
  }

  /** Back to its place in the queue at once, at no cost: for a worker that stops. */
  handBack(job: JobRef, workerId?: string): Promise<boolean> {
    return settleJob(this.#parts, job, workerId, () => ({ kind: "handBack" }));
  }

  /**
   * Enqueues the resume job of a paused one and ends the paused one. One decision per pause: the same decision again
   * returns the same job, a different one is a KeyConflict. Null: no such job is paused. May be repeated after an
   * interruption.
   */
  async resume(jobId: string, humanResponse: unknown): Promise<string | null> {
    const resumeId = await resumeJob(this.#parts, jobId, humanResponse);
    if (resumeId !== null) await this.#endPaused(jobId);
    return resumeId;
  }

  /** Reclaims expired claims. Returns the number of jobs. */
  reclaimExpired(options: { readonly onDeadLetter?: OnDeadLetter } = {}): Promise<number> {
    return reclaimJobs(this.#parts, options.onDeadLetter);
  }

  /** The job with this id; null when there is none. */
  getJob(jobId: string): Promise<WorkflowJob | null> {
    return lookUpJob(this.#parts, jobId);
  }

  /** How many jobs are in each state. */
  async getQueueDepth(): Promise<QueueDepth> {
    const { env, stack, queue, program } = this.#parts.settings.group;
    const filter = { env, queue, program, ...(stack !== null && { stack }) };
    const states = ["waiting", "held", "running", "paused", "dead"] as const;
    const {
      waiting = 0,
      held = 0,
      running = 0,
      paused = 0,
      dead = 0,
    } = await this.#parts.store.runs.count({ ...filter, states });
    return { waiting: waiting + held, active: running, paused, dead_letter: dead };
  }

  /** Replaces what `queueDepth` returns; null: waiting and active jobs again. */
  setQueueDepthProvider(provider: QueueDepthProvider | null): void {
    this.#depthProvider = provider;
  }

  /** One number for a gauge. */
  async queueDepth(): Promise<number> {
    if (this.#depthProvider) return this.#depthProvider();
    const { waiting, active } = await this.getQueueDepth();
    return waiting + active;
  }

  /** Registers the worker as a node of the cluster. `dequeue` does it too. */
  async signOn(workerId: string): Promise<void> {
    await this.#parts.workers.signOn(workerId);
  }

  /** A sign of life of the workers that signed on here. */
  beat(): Promise<void> {
    return this.#parts.workers.beat();
  }

  /**
   * Runs your own statements, and commits them only while the job is still held under this claim: otherwise they are rolled
   * back, and ClaimLost is thrown.
   */
  transaction<T>(job: JobRef, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return writeFenced(this.#parts, job, work);
  }

  /** The worker has stopped in an orderly way. */
  signOff(workerId: string): Promise<void> {
    return this.#parts.workers.signOff(workerId);
  }

  /** A paused run has no holder that could complete it: it is cancelled, under a name that `getJob` recognises. */
  async #endPaused(jobId: string): Promise<boolean> {
    const record = await jobRecord(this.#parts, jobId);
    if (record?.state !== "paused") return false;
    const answer = await this.#parts.store.runs.cancel(jobId, { by: ACKED_BY });
    return answer.outcome === "cancelled";
  }
}

/**
 * Creates a workflow queue over a store: claims with leases and fences, attempts and dead letters.
 *
 * @example
 * ```ts
 * const queue = workflowQueue(memoryStore()); // in production: postgres(url)
 * ```
 */
export function workflowQueue(store: Store, options: QueueOptions = {}): StoreQueue {
  return new StoreQueue(store, options);
}

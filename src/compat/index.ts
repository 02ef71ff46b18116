// Exports of `holdfast/compat`: a workflow queue and its worker over runs, and recovery calls, under the names of other systems.

export type {
  ClaimedJob,
  EnqueueInput,
  JobRef,
  JobStatus,
  JobType,
  QueueDepth,
  WorkflowJob,
} from "./job.js";
export { HandBack, Release } from "./job-outcome.js";
export { type QueueCase, type QueueHarness, queueConformance } from "./queue-conformance.js";
export type { HeartbeatAnswer, NackAnswer, QueueDepthProvider, WorkflowQueue } from "./queue-contract.js";
export type { QueueOptions } from "./queue-options.js";
export type { DeadLetter, OnDeadLetter } from "./queue-parts.js";
export {
  type ActorRegistry,
  type ReconcileResult,
  type RecoveryCalls,
  type RecoveryEvents,
  type RecoveryParts,
  recovery,
  type Scope,
  type SweepOptions,
  type SweepResult,
} from "./recovery.js";
export type { FailedJobFacts, JobEventFacts, WorkerEvents } from "./worker-events.js";
export type { JobContext, JobHandler, WorkerOptions } from "./worker-options.js";
export { type StoreQueue, workflowQueue } from "./workflow-queue.js";
export { WorkflowWorker } from "./workflow-worker.js";

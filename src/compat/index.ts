// The public face of `holdfast/compat`: a workflow queue and its worker, over runs.

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
export type { QueueOptions } from "./queue-options.js";
export type { DeadLetter, OnDeadLetter } from "./queue-parts.js";
export type { FailedJobFacts, JobEventFacts, WorkerEvents } from "./worker-events.js";
export type { JobContext, JobHandler, WorkerOptions } from "./worker-options.js";
export {
  type HeartbeatAnswer,
  type NackAnswer,
  type QueueDepthProvider,
  type WorkflowQueue,
  workflowQueue,
} from "./workflow-queue.js";
export { WorkflowWorker } from "./workflow-worker.js";

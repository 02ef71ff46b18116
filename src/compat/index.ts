// Public exports of `holdfast/compat`: a workflow queue and its worker, over runs; durable timeouts and their sweeper.

export { TimeoutClaimOver, TimeoutUnanswered } from "../timeout/error.js";
export { type TimeoutStoreOptions, timeoutStore } from "../timeout/store-timeouts.js";
export { TimeoutSweeper } from "../timeout/sweeper.js";
export type { SweeperEvents, SweeperMetrics, TimeoutFacts } from "../timeout/sweeper-events.js";
export type { Fire, FireContext, FireOutcome, LeaderElection, SweeperOptions } from "../timeout/sweeper-options.js";
export type {
  ClaimedTimeout,
  ClaimResult,
  Expired,
  ScheduledTimeout,
  TimeoutStore,
  TimeoutToSchedule,
} from "../timeout/timeout-store.js";
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
export {
  type HeartbeatAnswer,
  type NackAnswer,
  type QueueDepthProvider,
  type WorkflowQueue,
  workflowQueue,
} from "./workflow-queue.js";
export { WorkflowWorker } from "./workflow-worker.js";

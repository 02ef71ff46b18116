// A job as the queue shows it: one durable run in the queue's terms.

import type { RunState } from "../kernel/run/run-state.js";

/** Whether a job begins a workflow run or continues one. */
export type JobType = "start" | "resume";

/** The state of a job in the queue's terms. */
export type JobStatus = "waiting" | "active" | "paused" | "completed" | "failed" | "dead_letter";

/** A job to enqueue. */
export interface EnqueueInput {
  /** Begin a workflow run, or continue one. */
  readonly type: JobType;
  /** The workflow run this job works for: any string. Required for `resume`. @default the job's own id */
  readonly runId?: string;
  /** What to execute: any string; the handler looks it up. */
  readonly graphId?: string;
  /** The tenant it belongs to; the queue only stores it. */
  readonly tenantId?: string;
  /** The state that a `start` begins with. */
  readonly initialState?: unknown;
  /** The answer that a `resume` brings. */
  readonly humanResponse?: unknown;
  /** Lower first. @default 0 */
  readonly priority?: number;
  /** Claims in total before the job is dead-lettered. @default 3 */
  readonly maxAttempts?: number;
  /** How long a claim lasts without a heartbeat. @default the queue's, 300,000 */
  readonly visibilityTimeoutMs?: number;
}

/** The fields common to both views of a job. */
export interface JobFacts {
  /** The id of the job. */
  readonly id: string;
  /** Begin a workflow run, or continue one. */
  readonly type: JobType;
  /** The workflow run that the job works for. */
  readonly runId: string;
  /** What to execute; null: it was not said. */
  readonly graphId: string | null;
  /** The tenant it belongs to; null: none. */
  readonly tenantId: string | null;
  /** The state that a `start` begins with. */
  readonly initialState: unknown;
  /** The answer that a `resume` brings. */
  readonly humanResponse: unknown;
  /** Lower first. */
  readonly priority: number;
  /** Claims in total before the job is dead-lettered. */
  readonly maxAttempts: number;
  /** Claims that counted, including the current one: handing back and releasing do not count. */
  readonly attempt: number;
  /** How long a claim lasts without a heartbeat. */
  readonly visibilityTimeoutMs: number;
}

/** A job held by the worker that dequeued it. */
export interface ClaimedJob extends JobFacts {
  /** Always `active`. */
  readonly status: "active";
  /** The worker that holds it. */
  readonly workerId: string;
  /** Rises with every claim on a job of the same `runId`, whichever job that is: pass it to outside systems. */
  readonly claimEpoch: number;
  /** The database's clock when it was claimed. */
  readonly claimedAt: number;
}

/** A job as any caller may read it. */
export interface WorkflowJob extends JobFacts {
  /** Its state. */
  readonly status: JobStatus;
  /** The worker that holds it; null while none does. */
  readonly workerId: string | null;
  /** The last one of its `runId`; null before its first claim. */
  readonly claimEpoch: number | null;
  /** When it was enqueued; ms since 1970 on the database's clock. */
  readonly createdAt: number;
  /** Waiting: when it may be claimed. Active: when its claim expires. */
  readonly visibleAt: number | null;
  /** The message it failed with last; null when it has not failed. */
  readonly lastError: string | null;
}

/** A dequeued job also identifies its claim: a later claim of the same job by the same worker is a different one. */
export type JobRef = string | Pick<ClaimedJob, "id" | "claimEpoch">;

/** How many jobs are in each state. */
export interface QueueDepth {
  /** Jobs that wait for a worker. */
  readonly waiting: number;
  /** Jobs that a worker holds. */
  readonly active: number;
  /** Jobs that wait for a person. */
  readonly paused: number;
  /** Jobs without attempts left. */
  readonly dead_letter: number;
}

/** The states a queued job can be in; the others occur only for runs that were ended from outside. */
const STATUS: Readonly<Record<RunState, JobStatus>> = {
  blocked: "waiting",
  held: "waiting",
  waiting: "waiting",
  running: "active",
  parked: "paused",
  paused: "paused",
  completed: "completed",
  dead: "dead_letter",
  failed: "failed",
  cancelled: "failed",
  skipped: "failed",
  quarantined: "failed",
};

export function statusOf(state: RunState): JobStatus {
  return STATUS[state];
}

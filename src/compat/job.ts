// A job as the queue shows it: one durable run in the queue's terms.

import type { RunState } from "../kernel/run/run-state.js";

export type JobType = "start" | "resume";

export type JobStatus = "waiting" | "active" | "paused" | "completed" | "failed" | "dead_letter";

export interface EnqueueInput {
  readonly type: JobType;
  /** The workflow run this job works for: any string. Default for `start`: the job's own id. Required for `resume`. */
  readonly runId?: string;
  /** What to execute: any string; the handler looks it up. */
  readonly graphId?: string;
  readonly tenantId?: string;
  readonly initialState?: unknown;
  readonly humanResponse?: unknown;
  /** Lower first. Default 0. */
  readonly priority?: number;
  /** Claims in total before the job is dead-lettered. Default 3. */
  readonly maxAttempts?: number;
  /** How long a claim lasts without a heartbeat. Default: the queue's, 300,000. */
  readonly visibilityTimeoutMs?: number;
}

/** The fields common to both views of a job. */
export interface JobFacts {
  readonly id: string;
  readonly type: JobType;
  readonly runId: string;
  readonly graphId: string | null;
  readonly tenantId: string | null;
  readonly initialState: unknown;
  readonly humanResponse: unknown;
  readonly priority: number;
  readonly maxAttempts: number;
  /** Claims that counted, including the current one: handing back and releasing do not count. */
  readonly attempt: number;
  readonly visibilityTimeoutMs: number;
}

/** A job held by the worker that dequeued it. */
export interface ClaimedJob extends JobFacts {
  readonly status: "active";
  readonly workerId: string;
  /** Rises with every claim on a job of the same `runId`, whichever job that is: pass it to outside systems. */
  readonly claimEpoch: number;
  /** The database's clock when it was claimed. */
  readonly claimedAt: number;
}

/** A job as any caller may read it. */
export interface WorkflowJob extends JobFacts {
  readonly status: JobStatus;
  readonly workerId: string | null;
  /** The last one of its `runId`; null before its first claim. */
  readonly claimEpoch: number | null;
  readonly createdAt: number;
  /** Waiting: when it may be claimed. Active: when its claim expires. */
  readonly visibleAt: number | null;
  readonly lastError: string | null;
}

/** A dequeued job also identifies its claim: a later claim of the same job by the same worker is a different one. */
export type JobRef = string | Pick<ClaimedJob, "id" | "claimEpoch">;

export interface QueueDepth {
  readonly waiting: number;
  readonly active: number;
  readonly paused: number;
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

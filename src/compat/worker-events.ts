// Telemetry of a worker, under the names its users know.

/** The facts of an event about a job. */
export interface JobEventFacts {
  /** The id of the job. */
  readonly jobId: string;
  /** The workflow run that the job works for. */
  readonly runId: string;
}

/** The facts of an event about a job that failed. */
export interface FailedJobFacts extends JobEventFacts {
  /** What it failed with. */
  readonly error: unknown;
}

/** Events of a worker, by name. */
export interface WorkerEvents {
  /** The worker has claimed a job. */
  "job:claimed": JobEventFacts;
  /** The handler returned and the job was acked. */
  "job:completed": JobEventFacts;
  /** The handler threw; the job will be tried again. */
  "job:failed": FailedJobFacts;
  /** Paused until a person decides. */
  "job:released": JobEventFacts;
  /** No attempts left: after this worker's failure, or found while it reclaimed the jobs of a dead worker. */
  "job:dead_letter": FailedJobFacts;
  /** Another worker owns the job now. Its state was not changed. */
  "job:claim_lost": JobEventFacts;
  /** Waiting again at once and at no cost, because this worker stops. */
  "job:handed_back": JobEventFacts;
  /** The worker takes jobs. */
  "worker:started": { readonly workerId: string };
  /** The worker has stopped. */
  "worker:stopped": { readonly workerId: string };
  /** A call to the queue failed; the worker continues. */
  "worker:error": {
    readonly workerId: string;
    readonly during: "dequeue" | "heartbeat" | "settle" | "reclaim" | "stop";
    readonly error: unknown;
  };
}

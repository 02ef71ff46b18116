// Telemetry of a worker, under the names its users know.

export interface JobEventFacts {
  readonly jobId: string;
  readonly runId: string;
}

export interface FailedJobFacts extends JobEventFacts {
  readonly error: unknown;
}

export interface WorkerEvents {
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
  "worker:started": { readonly workerId: string };
  "worker:stopped": { readonly workerId: string };
  /** A call to the queue failed; the worker continues. */
  "worker:error": {
    readonly workerId: string;
    readonly during: "dequeue" | "heartbeat" | "settle" | "reclaim" | "stop";
    readonly error: unknown;
  };
}

// What the engine tells: who got which run, how it ended, what was taken back from whom.

export interface EngineEvents {
  "node.started": { readonly incarnation: string };
  "node.stopped": { readonly incarnation: string };
  /** The event loop did not come round for longer than a renewal interval. */
  "node.blocked": { readonly lateMs: number };
  "run.claimed": { readonly runId: string; readonly program: string; readonly epoch: number; readonly attempt: number };
  /** The claim was given back in order; `state` is what the run became. */
  "run.settled": { readonly runId: string; readonly program: string };
  "claim.lost": { readonly runId: string; readonly epoch: number };
  /** A program broke outside the user's code; the run is left to its lease. */
  "run.broken": { readonly runId: string; readonly error: unknown };
  "lease.renew_failed": { readonly reason: "error"; readonly error: unknown; readonly count: number };
  "claim.failed": { readonly error: unknown };
  "run.reclaimed": {
    readonly runId: string;
    readonly outcome: "waiting" | "dead";
    readonly previousOwner: string;
    readonly epoch: number;
    readonly expiredForMs: number;
  };
  /** The log of a run has grown long: its workflow should begin anew (continueAsNew) before it is stopped. */
  "run.history_long": { readonly runId: string; readonly length: number };
  "housekeeping.failed": { readonly error: unknown };
}

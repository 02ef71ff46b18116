// Telemetry of leases. `count` and `durationMs` are meant to be summed by metrics.

export interface LeaseFacts {
  readonly key: string;
  /** Who asked, renewed or ended: the owner whose process emits this. */
  readonly owner: string;
  readonly count: number;
}

export interface AcquireFacts extends LeaseFacts {
  /** How long the call took. */
  readonly durationMs: number;
}

export interface GrantFacts extends AcquireFacts {
  readonly attempt: number;
  readonly epoch: number;
}

export type LeaseCall = "renew" | "complete" | "fail" | "release";

export interface LeaseEvents {
  /** The key was free. */
  "lease.acquired": GrantFacts;
  /** The key was taken from an owner whose lease had expired: that owner died, hangs or is cut off. */
  "lease.steal": GrantFacts & { readonly stolenFrom: string };
  "lease.busy": AcquireFacts & { readonly heldBy: string | null };
  "lease.renewed": LeaseFacts;
  /** `lost`: another owner took it. `error`: no answer, so the outcome is unknown; the holder keeps trying. */
  "lease.renew_failed":
    | (LeaseFacts & { readonly reason: "lost" })
    | (LeaseFacts & { readonly reason: "error"; readonly error: unknown });
  "lease.completed": LeaseFacts;
  "lease.failed": LeaseFacts & { readonly detail: string };
  /** Given up without having done the work. */
  "lease.released": LeaseFacts;
  /** This owner's call was rejected, because another owner has the lease, or none. */
  "lease.lost": LeaseFacts & { readonly call: LeaseCall };
  /** The end of a lease could not be written, or its outcome is unknown: the lease expires. */
  "lease.end_failed": LeaseFacts & { readonly call: LeaseCall; readonly error: unknown };
  /** The renewer itself failed (not the store) and continues. */
  "lease.renewer_restarted": LeaseFacts & { readonly error: unknown };
}

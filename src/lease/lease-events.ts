// Telemetry of leases. `count` and `durationMs` are meant to be summed by metrics.

/** Facts about a lease. */
export interface LeaseFacts {
  /** Its key. */
  readonly key: string;
  /** Who asked, renewed or ended: the owner whose process emits this. */
  readonly owner: string;
  /** How often this has happened since the process started. */
  readonly count: number;
}

/** Facts about a lease that was asked for. */
export interface AcquireFacts extends LeaseFacts {
  /** How long the call took. */
  readonly durationMs: number;
}

/** Facts about a grant. */
export interface GrantFacts extends AcquireFacts {
  /** 1 for a new key; one more after each steal or failure. */
  readonly attempt: number;
  /** Rises with each grant of the key. */
  readonly epoch: number;
}

export type LeaseCall = "renew" | "complete" | "fail" | "release";

/** Events of leases, by name. */
export interface LeaseEvents {
  /** The key was free. */
  "lease.acquired": GrantFacts;
  /** The key was taken from an owner whose lease had expired: that owner died, hangs or is cut off. */
  "lease.steal": GrantFacts & { readonly stolenFrom: string };
  /** Another owner holds the lease. */
  "lease.busy": AcquireFacts & { readonly heldBy: string | null };
  /** The lease was renewed. */
  "lease.renewed": LeaseFacts;
  /** `lost`: another owner took it. `error`: no answer, so the outcome is unknown; the holder keeps trying. */
  "lease.renew_failed":
    | (LeaseFacts & { readonly reason: "lost" })
    | (LeaseFacts & { readonly reason: "error"; readonly error: unknown });
  /** The lease ended with success. */
  "lease.completed": LeaseFacts;
  /** The lease ended without success. */
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

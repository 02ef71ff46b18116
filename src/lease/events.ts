// What a lease tells the bus. `count` and `durationMs` are there to be summed by whoever measures.

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
  /** The key was taken from an owner whose time was over: that owner died, hangs or is cut off. */
  "lease.steal": GrantFacts & { readonly stolenFrom: string };
  "lease.busy": AcquireFacts & { readonly heldBy: string | null };
  "lease.renewed": LeaseFacts;
  /** `lost`: somebody took it. `error`: no answer, so nobody knows; the holder keeps trying. */
  "lease.renew_failed":
    | (LeaseFacts & { readonly reason: "lost" })
    | (LeaseFacts & { readonly reason: "error"; readonly error: unknown });
  "lease.completed": LeaseFacts;
  "lease.failed": LeaseFacts & { readonly detail: string };
  /** Given up without having done the work. */
  "lease.released": LeaseFacts;
  /** This owner's call was refused, because the lease is somebody else's or nobody's. */
  "lease.lost": LeaseFacts & { readonly call: LeaseCall };
  /** The end of a lease could not be written, or perhaps it was: its time runs out by itself. */
  "lease.end_failed": LeaseFacts & { readonly call: LeaseCall; readonly error: unknown };
  /** The renewer itself broke (not the store) and goes on. */
  "lease.renewer_restarted": LeaseFacts & { readonly error: unknown };
}

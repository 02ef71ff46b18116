// Named leases: a time-limited right that does not belong to a run. Same epochs and tokens as claims. The epochs of a key only rise,
// even when clean-up has removed the key in between; then they may skip numbers.

/** A lease as it is granted. */
export interface Lease {
  /** Its key. */
  readonly key: string;
  /** Who holds it. */
  readonly owner: string;
  /** Rises with each grant of the key. */
  readonly epoch: number;
  /** Random, of this grant only. */
  readonly token: string;
  /** 1 for a fresh key or after `done`; one more after each steal or failure. */
  readonly attempt: number;
}

export type LeaseState = "claimed" | "done" | "failed" | "expired";

/** A lease as it is stored. */
export interface LeaseRecord extends Lease {
  /** Its environment. */
  readonly env: string;
  /** Whether it is held, ended or expired. */
  readonly state: LeaseState;
  /** When it expires; ms since 1970 on the database's clock. */
  readonly leaseUntil: number;
  /** When it was granted; ms since 1970 on the database's clock. */
  readonly acquiredAt: number;
  /** When it ended; null: it has not. */
  readonly finishedAt: number | null;
  /** Why it failed; null: it did not. */
  readonly detail: string | null;
}

export interface AcquireRequest {
  readonly env: string;
  readonly key: string;
  readonly owner: string;
  /** Drawn by the caller: repeating the call returns the lease it already holds. */
  readonly token: string;
  readonly leaseMs: number;
}

export type AcquireAnswer =
  | { readonly outcome: "acquired"; readonly lease: Lease }
  /** Taken from an owner whose lease had expired. */
  | { readonly outcome: "stolen"; readonly lease: Lease; readonly previousOwner: string }
  | { readonly outcome: "busy"; readonly owner: string; readonly leftMs: number };

/** The lease that a write is made under: all of it is in the write's predicate. */
export interface LeaseFence {
  readonly env: string;
  readonly key: string;
  readonly epoch: number;
  readonly token: string;
}

export interface LeaseStore {
  acquire(request: AcquireRequest): Promise<AcquireAnswer>;
  /** False: lost. Also renews an expired lease, as long as no other owner took it. */
  renew(fence: LeaseFence, leaseMs: number): Promise<boolean>;
  complete(fence: LeaseFence): Promise<boolean>;
  fail(fence: LeaseFence, detail: string): Promise<boolean>;
  /** Releases it at once: any owner may acquire it, the attempt is not counted. */
  release(fence: LeaseFence): Promise<boolean>;
  /** Whether it is held under this fence and has not expired. */
  owns(fence: LeaseFence): Promise<boolean>;
  /** Frees claimed leases that have expired, oldest first; the next acquire is a steal. */
  reclaimExpired(options: { readonly env: string; readonly limit: number }): Promise<readonly LeaseRecord[]>;
  get(env: string, key: string): Promise<LeaseRecord | null>;
}

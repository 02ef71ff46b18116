// What a lease throws.

import { HoldfastError } from "../kernel/error.js";

/** Somebody else holds the key now, or it was freed. Nothing of the refused call was stored. */
export class LeaseLost extends HoldfastError {
  readonly code = "LEASE_LOST";
  readonly key: string;
  readonly epoch: number;

  constructor(lease: { readonly key: string; readonly epoch: number }, options?: { cause?: unknown }) {
    super(
      `The lease "${lease.key}" (epoch ${lease.epoch}) is lost: its time was over and it was taken or freed. ` +
        "Stop this work and do not repeat it here; acquire the lease again to go on.",
      options,
    );
    this.key = lease.key;
    this.epoch = lease.epoch;
  }
}

/** A call that makes no sense for this lease any more: it has ended, or is being held already. */
export class LeaseMisused extends HoldfastError {
  readonly code = "LEASE_MISUSED";
  readonly key: string;

  constructor(key: string, problem: string) {
    super(`The lease "${key}": ${problem}. Acquire it again for more work.`);
    this.key = key;
  }
}

/** The adapter that keeps these leases left out an optional call. */
export class LeaseUnsupported extends HoldfastError {
  readonly code = "LEASE_UNSUPPORTED";

  constructor(call: string) {
    super(`These work claims have no ${call}(). Add it to the adapter, or do without it.`);
  }
}

/**
 * `resigned`: by `resign` or `stop`. `doubt`: renewals got no answer, and the lease may be over soon. `lost`: somebody else has it.
 */
export type ResignReason = "resigned" | "doubt" | "lost";

/** What a term's `signal` aborts with. */
export class LeadershipEnded extends HoldfastError {
  readonly code = "LEADERSHIP_ENDED";
  readonly key: string;
  readonly reason: ResignReason;

  constructor(key: string, reason: ResignReason) {
    super(`The leadership of "${key}" ended (${reason}). Stop this work; whoever is elected next goes on.`);
    this.key = key;
    this.reason = reason;
  }
}

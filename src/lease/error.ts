// Errors of leases.

import { HoldfastError } from "../kernel/error.js";

/** Another owner holds the key now, or it was freed. Nothing of the rejected call was stored. */
export class LeaseLost extends HoldfastError {
  readonly code = "LEASE_LOST";
  /** The key of the lease. */
  readonly key: string;
  /** The epoch under which it was held. */
  readonly epoch: number;

  constructor(lease: { readonly key: string; readonly epoch: number }, options?: { cause?: unknown }) {
    super(
      `The lease "${lease.key}" (epoch ${lease.epoch}) is lost: it expired and was taken or freed. ` +
        "Stop this work and do not repeat it here; acquire the lease again to continue.",
      options,
    );
    this.key = lease.key;
    this.epoch = lease.epoch;
  }
}

/** The call is no longer valid for this lease: it has ended, or is already being held. */
export class LeaseMisused extends HoldfastError {
  readonly code = "LEASE_MISUSED";
  /** The key of the lease. */
  readonly key: string;

  constructor(key: string, problem: string) {
    super(`The lease "${key}": ${problem}. Acquire it again for more work.`);
    this.key = key;
  }
}

/** The adapter that stores these leases does not implement an optional call. */
export class LeaseUnsupported extends HoldfastError {
  readonly code = "LEASE_UNSUPPORTED";

  constructor(call: string) {
    super(`These work claims do not implement ${call}(). Add it to the adapter, or do not call it.`);
  }
}

/**
 * `resigned`: by `resign` or `stop`. `doubt`: renewals got no answer, and the lease may expire soon. `lost`: another
 * owner has it.
 */
export type ResignReason = "resigned" | "doubt" | "lost";

/** The abort reason of a term's `signal`. */
export class LeadershipEnded extends HoldfastError {
  readonly code = "LEADERSHIP_ENDED";
  /** The key of the leadership. */
  readonly key: string;
  /** Why it ended. */
  readonly reason: ResignReason;

  constructor(key: string, reason: ResignReason) {
    super(`The leadership of "${key}" ended (${reason}). Stop this work; the next leader continues it.`);
    this.key = key;
    this.reason = reason;
  }
}

// Work claims: the five calls behind a lease. Implement them to keep leases in a database of your own.
//
// `claimsConformance` in `holdfast/testing` proves an implementation. What it must keep to:
// - A key is free when it is new, done or failed, or when its holder's time is over. Only then `acquire` grants it:
//   to one caller, however many ask at once, and to nobody who already holds it.
// - Each grant raises the key's epoch and draws a new random token. `renew`, `complete` and `fail` are single
//   conditional writes with key, epoch and token in their predicate; the owner's name is not enough, because one
//   owner may hold two grants of a key in a row.
// - The database's clock decides what is over. A holder whose time is over may still renew or end its lease as long
//   as nobody took it.
// - Every call answers or rejects in a finite time. A rejection means: unknown.

export interface Grant {
  /** One more with each grant of the key. */
  readonly epoch: number;
  /** Random. Tells two grants apart whose epochs are equal because a failover lost the first. */
  readonly token: string;
  /** 1 for a new key or after `complete`; one more after each steal or failure. */
  readonly attempt: number;
}

export interface Granted extends Grant {
  readonly ok: true;
  /** Whom it was taken from, when that owner's time was over. Not after a failure or a completion. */
  readonly stolenFrom?: string;
}

export interface Refused {
  readonly ok: false;
  /** Who holds it, as far as known. */
  readonly owner?: string;
  /** How much of the holder's time is left. */
  readonly leftMs?: number;
}

export type ClaimAnswer = Granted | Refused;

export interface WorkClaims {
  acquire(key: string, owner: string, options: { readonly leaseMs: number }): Promise<ClaimAnswer>;
  /** False: somebody took it, or it has ended. */
  renew(key: string, owner: string, leaseMs: number, grant: Grant): Promise<boolean>;
  /** False: not the holder's to end any more. The same call repeated answers true again. */
  complete(key: string, owner: string, grant: Grant): Promise<boolean>;
  fail(key: string, owner: string, detail: string, grant: Grant): Promise<boolean>;
  /** Frees claims whose time is over, oldest first, and answers their keys. The late owner can do nothing after it. */
  reclaimExpired(limit: number): Promise<readonly string[]>;

  /** Gives it up without having done the work. Without this, `complete` is called. */
  release?(key: string, owner: string, grant: Grant): Promise<boolean>;
  /** Whether it is held under this grant and its time is not over. Without this, a lease relies on its own clock. */
  owns?(key: string, owner: string, grant: Grant): Promise<boolean>;
  /** What is known of a key. */
  get?(key: string): Promise<LeaseInfo | null>;
}

/** A lease as anybody may see it: without the token, which is its holder's alone. */
export interface LeaseInfo {
  readonly key: string;
  readonly owner: string;
  readonly state: "claimed" | "done" | "failed" | "expired";
  readonly epoch: number;
  readonly attempt: number;
  readonly leaseUntil: number;
  readonly acquiredAt: number;
  readonly finishedAt: number | null;
  readonly detail: string | null;
}

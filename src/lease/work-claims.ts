// Work claims: the five calls behind a lease. Implement them to keep leases in a database of your own.

import type { LeaseRecord } from "../store/contract/lease/leases.js";

/** Identifies one grant of a key. */
export interface Grant {
  /** Rises by one with each grant of the key. */
  readonly epoch: number;
  /** Random. Distinguishes two grants whose epochs are equal because a failover lost the first. */
  readonly token: string;
  /** 1 for a new key or after `complete`; one more after each steal or failure. */
  readonly attempt: number;
}

/** The key was granted. */
export interface Granted extends Grant {
  /** Distinguishes it from `Refused`. */
  readonly ok: true;
  /** The previous owner, if its lease had expired. Not after a failure or a completion. */
  readonly stolenFrom?: string;
}

/** Another owner holds the key. */
export interface Refused {
  /** Distinguishes it from `Granted`. */
  readonly ok: false;
  /** The holder, if known. */
  readonly owner?: string;
  /** The remaining time of the holder's lease. */
  readonly leftMs?: number;
}

/** The answer to `acquire`. */
export type ClaimAnswer = Granted | Refused;

/**
 * Keeps leases in a database of your own. `claimsConformance` of `holdfast/testing` proves an implementation. Its rules:
 *
 * - A key is free when it is new, done or failed, or when its holder's lease has expired. Only then `acquire` grants it:
 *   to one caller, however many ask at once, and never to an owner that already holds it.
 * - Each grant raises the key's epoch and draws a new random token. `renew`, `complete` and `fail` are single
 *   conditional writes with key, epoch and token in their predicate; the owner's name is not enough, because one
 *   owner may hold two grants of a key in a row.
 * - The database's clock decides what has expired. A holder whose lease has expired may still renew or end it as long
 *   as no other owner took it.
 * - Every call resolves or rejects in a finite time. A rejection means: unknown.
 */
export interface WorkClaims {
  /** Grants the key when it is free, to one caller only. */
  acquire(key: string, owner: string, options: { readonly leaseMs: number }): Promise<ClaimAnswer>;
  /** False: another owner took it, or it has ended. */
  renew(key: string, owner: string, leaseMs: number, grant: Grant): Promise<boolean>;
  /** False: no longer this holder's to end. The same call repeated returns true again. */
  complete(key: string, owner: string, grant: Grant): Promise<boolean>;
  /** Ends it without success; the next grant counts one more attempt. False: no longer this holder's to end. */
  fail(key: string, owner: string, detail: string, grant: Grant): Promise<boolean>;
  /** Frees expired claims, oldest first, and returns their keys. The late owner can do nothing afterwards. */
  reclaimExpired(limit: number): Promise<readonly string[]>;

  /** Gives it up without having done the work. Without this, `complete` is called. */
  release?(key: string, owner: string, grant: Grant): Promise<boolean>;
  /** Whether it is held under this grant and has not expired. Without this, a lease relies on its own clock. */
  owns?(key: string, owner: string, grant: Grant): Promise<boolean>;
  /** What is known about a key. */
  get?(key: string): Promise<LeaseInfo | null>;
}

/** A lease as any caller may see it: without the token, which belongs to its holder. */
export type LeaseInfo = Omit<LeaseRecord, "env" | "token">;

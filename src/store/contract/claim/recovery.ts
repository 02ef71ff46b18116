// Orphans: running runs whose holder has not renewed its lease. Lists them, and reclaims each as decided.

import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Recovery } from "../../../kernel/run/recovery.js";
import type { TakenBackAs } from "./claims.js";

export interface OrphanFilter {
  /** Omitted: of every env. */
  readonly env?: string;
  /** Of this stack and of none; omitted: of every stack. */
  readonly stack?: string;
  /** How long ago the lease must have expired. */
  readonly staleMs: number;
  readonly limit: number;
  /** Only ids after this one: the next page. */
  readonly after?: string;
}

/** A running run whose holder has not renewed its lease. */
export interface Orphan {
  /** The id of the run. */
  readonly runId: string;
  /** Env, stack, queue, program and version of the run. */
  readonly group: RunGroup;
  /** The incarnation that holds it. */
  readonly owner: string;
  /** The number of its claim. */
  readonly epoch: number;
  /** Claims in a row whose holder died. */
  readonly crashes: number;
  /** How many of them make it dead. */
  readonly crashLimit: number;
  /** How long ago its lease expired. */
  readonly expiredForMs: number;
  /** Set at its start, or declared by its nodes; null when neither did. */
  readonly recovery: Recovery | null;
}

/** Applies to the claim that was read: a run that was reclaimed and claimed again since is not affected. */
export interface RecoveryDecision {
  readonly runId: string;
  readonly epoch: number;
  readonly policy: Recovery;
}

/** A run whose claim was taken from a holder that is gone. */
export interface Reclaimed {
  /** The id of the run. */
  readonly runId: string;
  /** What happened to the run. */
  readonly outcome: TakenBackAs;
  /** The incarnation that held it, with its identity and name while it is registered. */
  readonly previousOwner: string;
  /** The identity of the holder; null: it is no longer registered. */
  readonly previousIdentity: string | null;
  /** The name of the holder; null: it is no longer registered. */
  readonly previousName: string | null;
  /** The number of the claim that was taken. */
  readonly epoch: number;
  /** Claims in a row whose holder died, this one included; a holder that gave a sign of life again does not count. */
  readonly crashes: number;
  /** How long ago the lease had expired; negative when its node was found missing before that. */
  readonly expiredForMs: number;
  /** How long ago the claim was granted or last renewed; null when its owner did not state the length of its leases. */
  readonly renewedAgoMs: number | null;
}

export interface RunRecovery {
  /**
   * Reclaims the claims of an env whose lease has expired: the outcome follows their program's recovery policy, or is `dead` at the
   * crash limit. Executes nothing.
   */
  reclaimExpired(options: { readonly env: string; readonly limit: number }): Promise<readonly Reclaimed[]>;

  /** Running runs whose lease expired at least this long ago, by id: for a caller that decides on each of them. Reads only. */
  orphans(filter: OrphanFilter): Promise<readonly Orphan[]>;

  /**
   * Reclaims these, each as decided, if it is still the same claim and its lease is still expired. Of two callers that decide on
   * one orphan, one acts; the answer to the other does not list it. Executes nothing.
   */
  recover(decisions: readonly RecoveryDecision[], options: { readonly staleMs: number }): Promise<readonly Reclaimed[]>;
}

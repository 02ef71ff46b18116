// Orphans: running runs whose holder has not renewed its lease. Who they are, and what was decided on each.

import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Recovery } from "../../../kernel/run/recovery.js";

export interface OrphanFilter {
  /** Omitted: of every env. */
  readonly env?: string;
  /** Of this stack and of none; omitted: of every stack. */
  readonly stack?: string;
  /** How long the lease must have been over. */
  readonly staleMs: number;
  readonly limit: number;
  /** Only ids after this one: the next page. */
  readonly after?: string;
}

export interface Orphan {
  readonly runId: string;
  readonly group: RunGroup;
  readonly owner: string;
  readonly epoch: number;
  readonly crashes: number;
  readonly crashLimit: number;
  readonly expiredForMs: number;
  /** As it was started, or as its nodes declared it; null when neither says. */
  readonly recovery: Recovery | null;
}

/** About the claim that was seen: a run that was taken back and claimed again since is another matter. */
export interface RecoveryDecision {
  readonly runId: string;
  readonly epoch: number;
  readonly policy: Recovery;
}

// Limits: what programs declare, and admitting held runs as far as their limits allow.

import type { LimitRule } from "../../../kernel/limit-rule.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Recovery } from "../../../kernel/run/recovery.js";

/** Runs whose keys are examined, or how many keys of an env are examined in one call. */
export type Admission = { readonly runIds: readonly string[] } | { readonly env: string; readonly keys: number };

/** What a program requires of its runs, declared by the nodes that have its code. */
export interface DeclaredProgram {
  readonly group: RunGroup;
  readonly limits: readonly LimitRule[];
  readonly recovery?: Recovery;
  /** Its code cleans up after a cancel: a run that has begun is cancelled by a node, not by the store. @default false */
  readonly cleansUp?: boolean;
}

/** Two nodes that take runs of one group have made different declarations. */
export interface DeclarationConflict {
  /** The group that both nodes declare. */
  readonly group: RunGroup;
  /** What they declare differently. */
  readonly of: readonly ("limits" | "recovery")[];
  /** The identity of the node whose declaration applies, and of the node whose declaration does not. */
  readonly holds: string;
  /** The node whose declaration does not count. */
  readonly overruled: string;
}

export interface RunLimits {
  /**
   * Stores what a registered node's code declares, for runs whose start does not state it. Only groups that the node serves and
   * takes runs of now count: a node that is disabled, leaves the work to others or has stopped changes nothing. Of two such
   * nodes the one that started later decides, and the older one when the later one is gone. May be repeated at any time.
   * Returns the groups for which another live node has declared something else.
   */
  declare(incarnation: string, programs: readonly DeclaredProgram[]): Promise<readonly DeclarationConflict[]>;

  /** The limits that were declared; empty when no node declared any. */
  limitsOf(group: RunGroup): Promise<readonly LimitRule[]>;

  /**
   * Admits held runs as far as their limits allow: those that share a key with the given runs, or the next ones, keys in turn.
   * Returns how many became claimable. Inserts, cancels and messages outside a transaction admit on their own; after a
   * commit, a wake-up or a reclaim the caller has to call this, and a forgotten call costs only time.
   */
  admit(whom: Admission): Promise<number>;
}

// Deferred runs: started by a node that leaves the work to other nodes.

import type { RunGroup } from "../../../kernel/run/new-run.js";

/** The life of a deferral: pending until a node takes it, then claimed; it ends with its run, or expires. The stack is its group's. */
export interface Deferral {
  /** The node that asked. */
  readonly by: string;
  /** When it is cancelled unless a node takes it; ms since 1970. Null: never. */
  readonly expiresAt: number | null;
  /** The incarnation that took it first, and when. */
  readonly takenBy: string | null;
  /** When a node took it; ms since 1970. Null: none did yet. */
  readonly takenAt: number | null;
}

/** A deferred run that no node took in time. */
export interface ExpiredRun {
  /** The id of the run. */
  readonly runId: string;
  /** The name of its program. */
  readonly program: string;
  /** Its stack; null: any. */
  readonly stack: string | null;
  /** The node that had asked for it. */
  readonly by: string;
}

/** The reason for the cancellation of a deferred run that no node took. */
export const DEFERRED_EXPIRED = {
  code: "DEFERRED_EXPIRED",
  message:
    "No node took it in time. Start a node in full mode that serves its program in its stack, and start it again.",
} as const;

export interface StackQuery {
  readonly env: string;
  /** Which other stacks; null: all of them. */
  readonly stacks: readonly string[] | null;
  /** Not this one. */
  readonly own: string | null;
  /** Of which programs. */
  readonly programs: readonly Pick<RunGroup, "queue" | "program" | "version">[];
}

export interface RunDeferrals {
  /** Cancels deferred runs of an env that no node took in time. Returns them. */
  expireDeferred(options: { readonly env: string; readonly limit: number }): Promise<readonly ExpiredRun[]>;

  /**
   * The groups of these programs in other stacks from which no live node of that stack takes runs: runs that were started
   * there are left to any node that offers to take them. Reads only.
   */
  unservedGroups(query: StackQuery): Promise<readonly { readonly id: number; readonly group: RunGroup }[]>;
}

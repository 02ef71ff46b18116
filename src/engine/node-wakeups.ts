// Wakes the services of a node, whichever part found the work.

import type { Wakeups } from "../kernel/wakeups.js";

export interface NodeTopics {
  /** Runs may be claimable. */
  readonly runs: readonly [];
  /** Runs or timers of these groups may be due; an empty list means any group. */
  readonly groups: readonly [groupIds: readonly number[]];
  /** A timer of a machine may be due in `inMs`. */
  readonly timers: readonly [inMs: number];
  /** Something that is not a run was stored, for example a definition. */
  readonly news: readonly [];
}

export type NodeWakeups = Wakeups<NodeTopics>;

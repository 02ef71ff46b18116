// Housekeeping: what every node does for all nodes of its env, once a second. A heartbeat is one cheap statement; it returns
// which of the other parts have work to do. Each part is a separate call, so that none of them waits for another.

import type { ModeState } from "../../../kernel/node-mode.js";
import type { NodeVitals } from "./programs.js";

/** A node that judges others. */
export interface Witness {
  readonly incarnation: string;
  /** Only nodes and runs of this env are examined. */
  readonly env: string;
  /** How long it has been in contact with the store without a gap, by its own clock. */
  readonly watchedMs: number;
  /** The contact began after a failure of its own: other nodes may have had the same failure, and need time to recover. */
  readonly troubled: boolean;
}

export interface HouseRound extends Witness {
  /** It renews nothing: the report says which of its runs have unread messages. */
  readonly alone?: boolean;
  /** How its process fares; stored with the sign of life. Without it the last report stays. */
  readonly vitals?: NodeVitals;
  /** The groups of the timers that it fires. */
  readonly timerGroups?: readonly number[];
}

export interface HouseReport {
  /** False: this incarnation is not registered (any more). */
  readonly registered: boolean;
  /** Its own presence is held; false also for a node that does not attend. */
  readonly present: boolean;
  /** Claims are to be reclaimed: `reclaim`. */
  readonly orphans: boolean;
  /** Parked runs may be due: `runs.wakeParked`. */
  readonly due: boolean;
  /** Runs that it holds and whose inbox has unread messages; empty unless it is alone. */
  readonly called: readonly { readonly runId: string; readonly inboxSeq: number }[];
  /** How many live nodes of its env claim from any of the groups that it claims from, itself included. */
  readonly peers: number;
  /** Of its `timerGroups` those that no live node with a lower incarnation claims from: it is the first to look for their timers. */
  readonly first: readonly number[];
  /** Nodes of its env that are gone and gave a sign of life in the last minute. */
  readonly gone: readonly string[];
  /** Held runs are due: `runs.admit`. */
  readonly held: boolean;
  /** The mode that this node is to be in; null while it is not registered. */
  readonly mode: ModeState | null;
  /** Deferred runs that no node took in time are to be ended: `runs.expireDeferred`. */
  readonly overdue: boolean;
  /** Runs that some code does not fit are to be examined: `runs.reviewMisfits`. */
  readonly misfits: boolean;
  /** How long until the next parked or held run is due, or a node that is missing is gone; null when none has a deadline. */
  readonly nextWakeMs: number | null;
}

export interface ReclaimRound extends Witness {
  /** Runs at most. */
  readonly limit: number;
}

// Housekeeping: what every node does for all of them once a second, in one call.

import type { ModeState } from "../../kernel/node-mode.js";
import type { Reclaimed } from "./runs.js";

export interface HouseRound {
  /** Who keeps house: this is its sign of life. */
  readonly incarnation: string;
  /** Runs woken and runs reclaimed at most. */
  readonly limit: number;
  /** False while the node's own start-up grace lasts: it takes nothing from anybody. */
  readonly reclaim: boolean;
  /** It renews nothing: the report tells which of its runs have unread messages. */
  readonly alone?: boolean;
  /** A node that attended and is not there for so long has died: its claims are reclaimed before their leases are over. */
  readonly presenceGraceMs: number;
}

export interface HouseReport {
  /** False: this incarnation is not registered (any more). */
  readonly registered: boolean;
  /** Parked runs that are claimable now. */
  readonly woken: number;
  readonly reclaimed: readonly Reclaimed[];
  /** Runs that it holds and whose inbox has unread messages; empty unless it is alone. */
  readonly called: readonly { readonly runId: string; readonly inboxSeq: number }[];
  /** Held runs are due: somebody should call `runs.admit`. */
  readonly held: boolean;
  /** In which mode this node is to be; null while it is not registered. */
  readonly mode: ModeState | null;
  /** Runs that nobody took in time are to be ended: somebody should call `runs.expireDeferred`. */
  readonly overdue: boolean;
  /** Runs that some code does not fit are to be looked at: somebody should call `runs.reviewMisfits`. */
  readonly misfits: boolean;
  /** How long until the next parked or held run is due; null when none has a deadline. */
  readonly nextWakeMs: number | null;
}

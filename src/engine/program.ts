// What the engine knows of a program: a name to claim by, and how to work on one claimed run.

import type { BreakerRule } from "../kernel/breaker-rule.js";
import type { LimitRule } from "../kernel/limit-rule.js";
import type { Recovery } from "../kernel/run/recovery.js";
import type { Session } from "./session.js";

export interface Program {
  readonly kind: string;
  readonly name: string;
  /** Runs pinned to a version are claimed only by a program of that version. */
  readonly version: string | null;
  readonly queue: string;
  /** The limits on its runs, narrow to wide. */
  readonly limits: readonly LimitRule[];
  /** Its circuit breaker; null when it has none. */
  readonly breaker: (BreakerRule & { readonly cancelRunning: boolean }) | null;
  /** What happens to its runs when their holder died. Default: resume. */
  readonly recovery?: Recovery;
  /**
   * Works on a run until a settling commit releases its claim. Rejects with ClaimLost when another node holds the run now;
   * any other rejection is a bug in Holdfast, and leaves the run to its lease.
   */
  execute(session: Session): Promise<void>;
}

// What the engine knows of a program: a name to claim by, and how to work on one claimed run.

import type { BreakerRule } from "../kernel/breaker-rule.js";
import { HoldfastError } from "../kernel/error.js";
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
  /** What happens to its runs when their holder died. @default resume */
  readonly recovery?: Recovery;
  /** Its runs are cancelled by its code, which may clean up. @default false: a run without a holder is cancelled at once */
  readonly cleansUp?: boolean;
  /**
   * Works on a run until a settling commit releases its claim. Rejects with ClaimLost when another node holds the run now. Any other
   * rejection leaves the run to its lease: a journal that is damaged or at another sequence, or a bug in Holdfast.
   */
  execute(session: Session): Promise<void>;
}

/** A definition was removed or replaced while a claim of its runs was on its way. */
export class ProgramGone extends HoldfastError {
  readonly code = "PROGRAM_GONE";

  constructor(runId: string) {
    super(`This node no longer has the program of run ${runId}; the run continues when its lease has expired.`);
  }
}

// Circuit breakers: a program whose runs fail one after the other is started by triggers no more, until one run has tried.
//
// Nothing is counted: the state is read from how the program's runs have ended, so it is the same for everybody, survives
// every crash and takes nothing from the path of a run. Only who may try is kept.

import type { BreakerRule } from "../../../kernel/breaker-rule.js";
import type { Transaction } from "../transaction.js";

export interface BreakerQuestion extends BreakerRule {
  readonly env: string;
  readonly program: string;
}

export interface BreakerRecord {
  /** `half-open`: its time is over, and one run may try. */
  readonly state: "closed" | "open" | "half-open";
  /** Failures since the last success, up to the threshold. */
  readonly failures: number;
  /** The failure that opened it, or keeps it open: another for each try. Null while it is closed. */
  readonly opening: string | null;
  /** Which try is next; null while nobody may. */
  readonly probe: number | null;
}

export interface ProbeRequest {
  readonly env: string;
  readonly program: string;
  readonly opening: string;
  readonly probe: number;
  /** The run that tries, to be inserted next. */
  readonly runId: string;
}

/** A try whose run is not there after so long was never begun: another may. */
export const PROBE_GRACE_MS = 10_000;

export interface BreakerStore {
  /** Answers stand in the order of the questions. */
  read(
    questions: readonly BreakerQuestion[],
    options?: { readonly tx?: Transaction },
  ): Promise<readonly BreakerRecord[]>;

  /** True for one caller: its run may try. The same request repeated is answered the same. With a transaction: an INSERT. */
  takeProbe(request: ProbeRequest, options?: { readonly tx?: Transaction }): Promise<boolean>;

  /** Whether this run was let through to try. */
  isProbe(runId: string): Promise<boolean>;
}

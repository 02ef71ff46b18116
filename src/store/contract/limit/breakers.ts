// Circuit breakers: triggers no longer start a program whose runs fail one after the other, until one run has tried.
//
// Nothing is counted: the state is read from how the program's runs have ended, so it is the same for every node, survives
// every crash and adds nothing to the path of a run. Only the run that may try is stored.

import type { BreakerRule } from "../../../kernel/breaker-rule.js";
import type { Transaction } from "../transaction.js";

export interface BreakerQuestion extends BreakerRule {
  readonly env: string;
  readonly program: string;
}

export interface BreakerRecord {
  /** `half-open`: its open time has ended, and one run may try. */
  readonly state: "closed" | "open" | "half-open";
  /** Failures since the last success, up to the threshold. */
  readonly failures: number;
  /** The failure that opened it, or keeps it open: a different one after each try. Null while it is closed. */
  readonly opening: string | null;
  /** Which try is next; null while no run may try. */
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

/** A try whose run does not exist after this time was never begun: another run may try. */
export const PROBE_GRACE_MS = 10_000;

export interface BreakerStore {
  /** Answers are in the order of the questions. */
  read(
    questions: readonly BreakerQuestion[],
    options?: { readonly tx?: Transaction },
  ): Promise<readonly BreakerRecord[]>;

  /** True for one caller: its run may try. A repeated request gets the same answer. With a transaction: an INSERT. */
  takeProbe(request: ProbeRequest, options?: { readonly tx?: Transaction }): Promise<boolean>;

  /** Whether this run was let through to try. */
  isProbe(runId: string): Promise<boolean>;
}

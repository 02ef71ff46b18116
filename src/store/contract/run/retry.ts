// Opening ended runs again: what an operator asks for, and what each run answers.

import type { Payload } from "../../../kernel/codec/payload.js";
import { RETRYABLE_STATES, type RunState } from "../../../kernel/run/run-state.js";

export interface RetryCall {
  /** Who asks; stands in the journal. */
  readonly by: string;
  /** Drawn by the caller: the same call repeated finds its own effect. */
  readonly callId: string;
  /** False: goes on where it was, and what failed last is tried again. True: begins anew with the same input. */
  readonly fromStart: boolean;
  /** Stands in the entry of a run that goes on where it was: what its program is to make of that. */
  readonly note?: Payload;
}

export type RetryAnswer =
  | { readonly outcome: "retried" }
  /** Only failed, dead and quarantined runs are opened again. */
  | { readonly outcome: "not retryable"; readonly state: RunState }
  /** It is a task of this run: it is opened together with that, or others would not know that they wait for it. */
  | { readonly outcome: "task"; readonly of: string }
  | { readonly outcome: "unknown" };

export function isRetryable(state: RunState): boolean {
  return (RETRYABLE_STATES as readonly RunState[]).includes(state);
}

export interface RunRetries {
  /**
   * Opens failed, dead and quarantined runs again, with those of their tasks that did not succeed: of the skipped ones only
   * those behind another that is opened. From the start, a run begins anew with new tasks. Answers stand in the order of the ids.
   */
  retry(runIds: readonly string[], options: RetryCall): Promise<readonly RetryAnswer[]>;
}

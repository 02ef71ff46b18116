// Output keys: under each there is at most one delivery, whichever run, node or generation asks for it.

import type { Transaction } from "../transaction.js";

/** Where the keys of outputs are, among the dedupe keys: no program has a name with spaces. */
export const OUTPUT_SCOPE = "key of an output";

export interface OutputCall {
  readonly env: string;
  readonly key: string;
  readonly runId: string;
  /** The call of the run that asks: another call of the same run, also in a later generation, is another one. */
  readonly call: string;
  /** How long the key is kept. */
  readonly keepMs: number;
}

export type OutputAnswer =
  | { readonly outcome: "taken" }
  /** Another call has it. */
  | { readonly outcome: "held"; readonly runId: string };

export interface RunOutputs {
  /**
   * Gives the key to this call, unless another call has it and its time has not passed. The holder of a claim asks in the transaction
   * of its commit, whose fence covers it, and delivers afterwards.
   */
  takeOutput(call: OutputCall, options?: { readonly tx?: Transaction }): Promise<OutputAnswer>;
}

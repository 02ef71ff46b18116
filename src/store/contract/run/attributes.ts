// Search attributes of runs: a run is started with some, and its holder changes them.

import type { AttributeChanges } from "../../../kernel/run/attribute.js";
import type { Transaction } from "../transaction.js";

export interface AttributeChange {
  readonly runId: string;
  /** Null removes one. */
  readonly attributes: AttributeChanges;
}

export type AttributeAnswer =
  | { readonly outcome: "set" }
  /** The run would have more than `MOST_ATTRIBUTES`: nothing was changed. */
  | { readonly outcome: "too many" }
  | { readonly outcome: "unknown" };

export interface RunAttributes {
  /**
   * Sets and removes attributes of a run; the others stay. The holder of a claim calls it in the transaction of its commit, whose
   * fence covers it.
   */
  setAttributes(change: AttributeChange, options?: { readonly tx?: Transaction }): Promise<AttributeAnswer>;
}

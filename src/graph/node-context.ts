// What a node's function is given besides the state.

import type { RecordedError } from "../kernel/codec/recorded-error.js";
import type { Services } from "../program/environment.js";
import type { StepInfo } from "../replay/step-call.js";

/** The idempotency key is made of the run, the node and its visit: the same for every attempt, on every node. */
export interface NodeContext extends StepInfo {
  readonly runId: string;
  /** The node's name; inside another node with its path: `research/plan`. */
  readonly node: string;
  /** Which visit of this node it is: `2`; inside another node with the visits on the way: `1.3`. */
  readonly visit: string;
  readonly services: Services;
  /** What failed, in the node that a failure edge leads to. */
  readonly failure: { readonly node: string; readonly error: RecordedError } | null;
  /**
   * Counts what this run uses up. Over the budget it throws BudgetExceeded. Recorded with whatever the node records next; what an
   * attempt counted that its process did not survive is lost.
   */
  spend(budget: string, amount: number): void;
  /** For whoever watches the run. */
  progress(value: unknown): Promise<void>;
}

/** Of one item of a map. */
export interface ItemContext extends NodeContext {
  readonly index: number;
}

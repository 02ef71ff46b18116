// The context of a node's function.

import type { RecordedError } from "../kernel/codec/recorded-error.js";
import type { Services } from "../program/environment.js";
import type { StepInfo } from "../replay/step-call.js";

/** The idempotency key consists of the run, the node and its visit: the same for every attempt, on every node. */
export interface NodeContext extends StepInfo {
  readonly runId: string;
  /** The node's name; in a subgraph, its path: `research/plan`. */
  readonly node: string;
  /** The visit of this node: `2`; in a subgraph, the visits along the path: `1.3`. */
  readonly visit: string;
  readonly services: Services;
  /** The failure, in the node that a failure edge leads to. */
  readonly failure: { readonly node: string; readonly error: RecordedError } | null;
  /**
   * Counts what this run spends. Beyond the budget it throws BudgetExceeded. Recorded with the node's next entry;
   * spending of an attempt whose process died is lost.
   */
  spend(budget: string, amount: number): void;
  /**
   * The next node, instead of the one that the edge leads to: a node of this graph, or `end`. Counts when the function returns; a map's
   * items and branches have no edge of their own, and it throws there.
   */
  goto(target: string): void;
  /** Reports progress to watchers of the run. */
  progress(value: unknown): Promise<void>;
}

/** The context of one item of a map. */
export interface ItemContext extends NodeContext {
  readonly index: number;
}

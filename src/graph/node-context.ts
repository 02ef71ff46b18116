// The context of a node's function.

import type { RecordedError } from "../kernel/codec/recorded-error.js";
import type { Services } from "../program/environment.js";
import type { StepInfo } from "../replay/step-call.js";
import type { LongTermStore } from "./node/long-term-store.js";
import type { Interrupts } from "./node/question.js";

/** The idempotency key consists of the run, the node and its visit: the same for every attempt, on every node. */
export interface NodeContext extends StepInfo {
  /** The id of the run. */
  readonly runId: string;
  /** The node's name; in a subgraph, its path: `research/plan`. */
  readonly node: string;
  /** The visit of this node: `2`; in a subgraph, the visits along the path: `1.3`. */
  readonly visit: string;
  /** What the node's option `services` made for this run. */
  readonly services: Services;
  /** The failure, in the node that a failure edge leads to. */
  readonly failure: { readonly node: string; readonly error: RecordedError } | null;
  /**
   * Counts what this run spends. Beyond the budget it throws BudgetExceeded. Recorded with the node's next entry;
   * spending of an attempt whose process died is lost.
   */
  spend(budget: string, amount: number): void;
  /**
   * The next node, instead of the one that the edge leads to: a node of this graph, or `end`; several run side by side. Counts when the
   * function returns; a map's items and branches have no edge of their own, and it throws there.
   */
  goto(...targets: string[]): void;
  /**
   * Asks a person and waits without a slot. The function ends here and is called again with the answer, so what comes before runs again;
   * the nth question of a visit has its nth answer.
   */
  readonly interrupt: Interrupts;
  /** Values by space and key that outlive the run. */
  readonly store: LongTermStore;
  /**
   * Streams a value, as it is now, to those who watch the run (`graphs.stream`): a text is a token. It is not recorded, and what a process
   * that dies had not sent is lost. A value that cannot be stored throws; one that is too large is dropped.
   */
  write(value: unknown): void;
  /** Reports progress to watchers of the run, in its journal. */
  progress(value: unknown): Promise<void>;
}

/** The context of one item of a map. */
export interface ItemContext extends NodeContext {
  /** The place of the item in its list, from 0. */
  readonly index: number;
}

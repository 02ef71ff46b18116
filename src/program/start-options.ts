// The options of a start, wherever it comes from: a client, a node or a workflow.

import type { Duration } from "../kernel/duration.js";
import type { Per } from "../kernel/per.js";
import type { Attributes } from "../kernel/run/attribute.js";
import type { Transaction } from "../store/contract/transaction.js";

/** Options of a start: key, delay, priority, attributes, transaction. */
export interface StartOptions {
  /** The same key and input return the existing run. The same key with other input fails with `KeyConflict`. */
  readonly key?: string;
  /**
   * How long the key is reserved: while its run lives, until the run is archived, or for a time.
   * @default until archived
   */
  readonly once?: "while live" | "until archived" | Duration;
  /** Whether the key is unique in the env or in each stack. @default env */
  readonly per?: Per;
  /** Lower runs first. @default 0 */
  readonly priority?: number;
  /** The run is not claimed before this time has passed. */
  readonly delay?: Duration;
  /** At most eight names with strings, numbers or booleans, by which `runs.list` finds the run. */
  readonly attributes?: Attributes;
  /** Your own transaction: the run exists when you commit. */
  readonly tx?: Transaction;
}

/** Without input when the program takes none. */
export type StartArguments<In, Options = StartOptions> = undefined extends In
  ? [input?: In, options?: Options]
  : [input: In, options?: Options];

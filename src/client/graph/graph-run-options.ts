// What operations on graph runs take and answer: where to begin, who asks, positions and states.

import type { NodeOf } from "../../graph/graph-value.js";
import type { Breakpoints } from "../../graph/start-input.js";
import type { RunState } from "../../kernel/run/run-state.js";
import type { StartOptions } from "../../program/start-options.js";

/** A node's name means its last visit; `plan:2` means a specific one; `research/plan:1.2` one inside the node `research`. */
export type Where<N extends string> = N | `${N}:${number}` | `${N}/${string}`;

/** Options of `graphs.fork`. */
export interface ForkOptions<S = object, N extends string = string> {
  /** The node at which the new run begins. */
  readonly from: Where<N>;
  /** State fields to override. */
  readonly state?: Partial<S>;
  /** Who asks; recorded in the new run's journal. @default "client" */
  readonly by?: string;
  /** Lower runs first. @default that of the run */
  readonly priority?: number;
}

/** Options of `graphs.rewind`. */
export interface RewindOptions<S = object, N extends string = string> {
  /** The node at which the run resumes. */
  readonly to: Where<N>;
  /** State fields to override. */
  readonly state?: Partial<S>;
  /** Who asks and why; both are recorded in the run's journal. */
  readonly by: string;
  /** The reason; recorded in the run's journal. */
  readonly why: string;
}

/** Options of `recover`. */
export interface RecoverOptions {
  /** Who chose and why; both are recorded in the run's journal. */
  readonly by: string;
  /** The reason; recorded in the run's journal. */
  readonly why: string;
}

/** Where a graph run is. */
export interface GraphPosition {
  /** Like `plan:2`, `end`, or null before the run has begun. */
  readonly position: string | null;
  /** The state of the run. */
  readonly state: RunState;
}

/** The state of a graph run at its position. */
export interface GraphStateOf<S> {
  /** Like `plan:2`, or `end`. */
  readonly position: string;
  /** The state itself. */
  readonly state: S;
  /** The states of subgraphs in progress, by path and visits: `research:1`. */
  readonly inner: Readonly<Record<string, unknown>>;
}

export type GraphStartOptions<G> = StartOptions & { readonly breakpoints?: Breakpoints<NodeOf<G>> };

/** The newest state of a thread, and the run that left it. */
export interface Thread<S> {
  /** The state after the last run. */
  readonly state: S;
  /** The id of the last run. */
  readonly run: string;
  /** Milliseconds since 1970: when its last run ended. */
  readonly at: number;
}

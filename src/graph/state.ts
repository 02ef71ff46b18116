// The state of a graph: its type, its reducers, and the kinds of nodes that work on it.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { checkQuestion } from "../replay/approval-call.js";
import type { Signal } from "../replay/signal.js";
import type { ApprovalOptions, Decision } from "../workflow/context.js";
import { attemptRules, type NodeOptions } from "./attempt-rules.js";
import type { Graph } from "./graph-value.js";
import { type CacheOptions, cacheRules } from "./node/node-cache.js";
import type { ItemContext } from "./node-context.js";
import {
  type ApprovalNode,
  type FunctionNode,
  type GraphNode,
  type MapNode,
  type NodeFunction,
  nodeKind,
  type ParallelNode,
  type SubgraphNode,
  type Update,
  type WaitNode,
} from "./plan.js";
import { graphNodeName } from "./position.js";
import type { Reducer, Reducers } from "./reducer.js";

/** The list fields of a state, and the types of their items. */
type ListField<S> = { [K in keyof S]-?: NonNullable<S[K]> extends readonly unknown[] ? K : never }[keyof S];
type ItemOf<L> = NonNullable<L> extends readonly (infer Item)[] ? Item : never;

type MapOptions<K> = NodeOptions & {
  /** The field that receives the results, in the order of the items. */
  readonly into: K;
  /** How many items run at once. @default 10 */
  readonly limit?: number;
};

type ApprovalNodeOptions<S, Choices extends readonly string[]> = Omit<ApprovalOptions<Choices>, "ask" | "plan"> & {
  readonly ask: (state: Readonly<S>) => string;
  /** What will be done if approved. Shown with the question; a decision on one plan never counts for another. */
  readonly plan?: (state: Readonly<S>) => unknown;
  readonly apply: (state: Readonly<S>, decision: Decision<Choices[number]>) => Update<S>;
};

/** A graph's state: its type and reducers, and the makers of the nodes that work on it. */
export interface State<S> {
  /** How updates of each field are merged. */
  readonly reducers: Reducers;
  /** A function with a retry policy or a timeout of its own. */
  node(
    options: NodeOptions & {
      /** Results are used again for the same key, by all runs of the graph in the cluster. @default no */
      readonly cache?: CacheOptions<S>;
    },
    run: NodeFunction<S>,
  ): FunctionNode<S>;
  /** Processes the items of a list, several at once; each result is recorded and not repeated. */
  map<T, K extends ListField<S>>(
    items: (state: Readonly<S>) => readonly T[],
    each: (ctx: ItemContext, item: T, state: Readonly<S>) => ItemOf<S[K]> | Promise<ItemOf<S[K]>>,
    options: MapOptions<K>,
  ): MapNode<S>;
  /** Parallel branches and a join: their updates are applied in the order in which the branches are listed. */
  parallel(branches: Readonly<Record<string, GraphNode<S>>>): ParallelNode<S>;
  /** Another graph inside this run, with its own state. Its nodes are recorded one by one. */
  subgraph<S2, N extends string, In, Out, Parsed>(
    graph: Graph<string, S2, N, In, Out, Parsed>,
    options: {
      readonly input: (state: Readonly<S>) => In;
      readonly apply: (state: Readonly<S>, output: Out) => Update<S>;
    },
  ): SubgraphNode<S>;
  /** Asks a person, and waits without a slot. */
  approval<const Choices extends readonly string[] = ["approved", "denied"]>(
    options: ApprovalNodeOptions<S, Choices>,
  ): ApprovalNode<S>;
  /** Waits for the next message of a signal; with a timeout, `undefined` is applied when none came. */
  wait<T>(
    signal: Signal<T>,
    options: {
      readonly timeout: Duration;
      readonly apply: (state: Readonly<S>, payload: T | undefined) => Update<S>;
    },
  ): WaitNode<S>;
  wait<T>(
    signal: Signal<T>,
    options: { readonly timeout?: undefined; readonly apply: (state: Readonly<S>, payload: T) => Update<S> },
  ): WaitNode<S>;
  /** Carries the type only. */
  readonly "~state"?: (state: S) => S;
}

const DEFAULT_ITEMS_AT_ONCE = 10;

/**
 * Declares the state of a graph: its type, and how updates of each field are merged.
 *
 * @example
 * ```ts
 * const S = state<Talk>({ messages: append() });
 * ```
 */
export function state<S extends object>(
  reducers: { readonly [K in keyof S]?: Reducer<NonNullable<S[K]>> } = {},
): State<S> {
  for (const [field, reducer] of Object.entries(reducers))
    if (typeof reducer !== "function") throw new InvalidInput(`state.${field}`, "must be a reducer, like append()");
  const made = {
    reducers: reducers as Reducers,
    node: ({ cache, ...options }: NodeOptions & { cache?: CacheOptions<never> }, run: NodeFunction<S>) => ({
      kind: "function",
      rules: attemptRules(options),
      run,
      cache: cacheRules(cache),
    }),
    map: (
      items: MapNode<S>["items"],
      each: MapNode<S>["each"],
      { into, limit = DEFAULT_ITEMS_AT_ONCE, ...options }: MapOptions<keyof S>,
    ) => {
      if (!Number.isInteger(limit) || limit < 1) throw new InvalidInput("map.limit", "must be a whole number from 1");
      return { kind: "map", items, each, into: String(into), limit, rules: attemptRules(options) };
    },
    parallel: (branches: Readonly<Record<string, GraphNode<S>>>) => {
      const named = Object.entries(branches).map(([name, node]) => [
        graphNodeName(name, `branch ${JSON.stringify(name)}`),
        nodeKind(node),
      ]);
      if (named.length === 0) throw new InvalidInput("parallel", "needs at least one branch");
      return { kind: "parallel", branches: Object.fromEntries(named) };
    },
    subgraph: (graph: SubgraphNode<S>["graph"], options: Pick<SubgraphNode<S>, "input" | "apply">) => ({
      kind: "subgraph",
      graph,
      input: options.input,
      apply: options.apply,
    }),
    approval: ({ ask, plan, apply, ...question }: ApprovalNodeOptions<S, readonly string[]>) => ({
      kind: "approval",
      ask,
      plan: plan ?? null,
      apply,
      rules: questionRules(question),
    }),
    wait: (signal: Signal<never>, { timeout, apply }: { timeout?: Duration; apply: WaitNode<S>["apply"] }) => ({
      kind: "wait",
      signal,
      timeoutMs: timeout === undefined ? null : toMs(timeout, "timeout of a wait"),
      apply,
    }),
  };
  return made as unknown as State<S>;
}

/** Checked when the graph is created, so that a mistake is reported before anyone is asked. */
function questionRules(
  options: Omit<ApprovalOptions<readonly string[]>, "ask" | "plan">,
): ApprovalNode<unknown>["rules"] {
  const { choices = ["approved", "denied"], to = null, timeout, default: otherwise = null } = options;
  checkQuestion({ choices, otherwise }, "approval");
  return { choices, to, otherwise, timeoutMs: timeout === undefined ? null : toMs(timeout, "timeout of an approval") };
}

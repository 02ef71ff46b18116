// `graph()`: nodes and edges over a state, with cycles; all types are inferred.

import { breakerRule, type CircuitBreaker } from "../kernel/breaker-rule.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { type FlowOptions, limitRules } from "../kernel/limit-rule.js";
import { programName, queueName, versionName } from "../kernel/name.js";
import type { Schema } from "../program/schema.js";
import type { Trigger } from "../trigger/trigger.js";
import { checkPaths, checkPlan } from "./check-plan.js";
import { graphProgram } from "./execute.js";
import { frozen } from "./frozen.js";
import type { Graph } from "./graph-value.js";
import { checkedBudgets } from "./limits.js";
import { toMermaid } from "./mermaid.js";
import { drawnGraph, type EdgeValue, type GraphNode, type GraphPlan, nodeKind } from "./plan.js";
import { type END, graphNodeName } from "./position.js";
import type { Fields } from "./reducer.js";
import type { State } from "./state.js";

/** Limits of each run of a graph. */
export interface GraphLimits {
  /** How many nodes a run may execute, including those of subgraphs. @default 1,000 */
  readonly iterations?: number;
  /** How long a run may take from its start, waits included; then it is `failed` with the code TIMEOUT. */
  readonly timeout?: Duration;
  /** Limits for `ctx.spend`, by name. */
  readonly budgets?: Readonly<Record<string, number>>;
}

export type Target<N extends string> = N | typeof END;

/** To one node, to several side by side, to those that `choose` names, or to the end; and the target when the node has failed for good. */
export type Edge<S, N extends string> =
  | Target<N>
  | { readonly to: Target<N> | readonly N[]; readonly failed?: Target<N> }
  | {
      readonly to: readonly Target<N>[];
      /** Pure; returns one of `to`, or several, which then run side by side. */
      readonly choose: (state: Readonly<S>) => Target<N> | readonly Target<N>[];
      readonly failed?: Target<N>;
    };

/** Whether every edge has a node, and every `choose` returns one of its `to`. */
type Fitting<E, N> = {
  readonly [K in keyof E]: [K] extends [N] ? Choosing<E[K]> : never;
};
type Choosing<OneEdge> = OneEdge extends {
  readonly to: readonly (infer To)[];
  readonly choose: (state: infer S) => infer Chosen;
}
  ? [Chosen] extends [To | readonly To[]]
    ? unknown
    : { readonly choose: (state: S) => To | readonly To[] }
  : unknown;

type NameOf<Nodes> = keyof Nodes & string;

/** A graph as it is written: its state, nodes and edges. */
interface Shape<S, Nodes, E> {
  /** What `state()` declared. */
  readonly state: State<S>;
  /** The node at which a run begins. */
  readonly start: NoInfer<NameOf<Nodes>>;
  /** The nodes, by name. */
  readonly nodes: Nodes;
  /** Where a run moves from each node. */
  readonly edges: E & Fitting<E, NoInfer<NameOf<Nodes>>>;
  /** Limits of each run. */
  readonly limits?: GraphLimits;
  /** The state is written after this many nodes, which bounds the time to resume elsewhere. @default 100 */
  readonly snapshotEvery?: number;
  /** The queue of its runs. @default its name */
  readonly queue?: string;
  /** Pins new runs to programs of this version. @default any version may execute them */
  readonly version?: string;
  /** After this many failures in a row, triggers start no run until a probe succeeds. `start` is not affected. */
  readonly circuitBreaker?: CircuitBreaker;
}

/** Edges to the end of a graph. */
interface Ends<S, Parsed, Out> {
  /** Creates the first state from the input. @default the input is the state */
  readonly init?: (input: Parsed) => S;
  /** The run's result. @default the last state */
  readonly output?: (state: Readonly<S>) => Out;
}

/** Without `init` the input is the first state. */
type Begins<S, Parsed> = Parsed extends S ? unknown : { readonly init: (input: Parsed) => S };

const DEFAULT_ITERATIONS = 1_000;
const DEFAULT_SNAPSHOT_EVERY = 100;

// One signature: with overloads, the functions inside would be typed by the first and checked against the second.
/**
 * Defines a graph: named nodes that work on a typed state, and edges between them, with cycles, people and branches.
 *
 * @example
 * ```ts
 * const chat = graph("chat", {
 *   state: S,
 *   init: (message: string) => ({ messages: [message], sources: [] }),
 *   start: "listen",
 *   nodes: {
 *     listen: async (ctx, s) => {
 *       const [, name] = /I am (\w+)/.exec(s.messages.at(-1)!) ?? [];
 *       if (name) ctx.store.put("people", "me", name);
 *     },
 *     web: S.node({ cache: { key: (s) => s.messages.at(-1), ttl: "1h" } }, async () => {
 *       console.log("asks the web");
 *       return { sources: ["web"] };
 *     }),
 *     wiki: async () => {},
 *     answer: async (ctx, s) => {
 *       const name = (await ctx.store.get<string>("people", "me")) ?? "you";
 *       return { messages: [`${name}, that was message ${(s.messages.length + 1) / 2}`] };
 *     },
 *   },
 *   edges: { listen: { to: ["web", "wiki"] }, web: "answer", wiki: "answer", answer: "end" },
 *   output: (s) => s.messages.at(-1),
 * });
 * ```
 */
export function graph<
  const Name extends string,
  S,
  Nodes extends Readonly<Record<string, GraphNode<S>>>,
  const E extends Record<NameOf<Nodes>, Edge<S, NameOf<Nodes>>>,
  Parsed = S,
  In = Parsed,
  Out = S,
>(
  name: Name,
  options: Shape<S, Nodes, E> &
    Ends<S, Parsed, Out> &
    Begins<S, NoInfer<Parsed>> &
    FlowOptions<NoInfer<Parsed>> & {
      /** The schema of the input; any Standard Schema. */
      readonly input?: Schema<In, Parsed>;
      readonly on?: readonly Trigger<NoInfer<Parsed>>[];
    },
): Graph<Name, S, NameOf<Nodes>, In, Out, Parsed>;
export function graph(name: string, options: AllOptions): Graph<string, Fields, string, unknown, unknown> {
  programName(name, "graph name");
  const plan = planOf(options);
  checkPlan(name, plan);
  checkPaths(plan.nodes);
  const made: Graph<string, Fields, string, unknown, unknown> = {
    kind: "graph",
    name,
    queue: queueName(options.queue ?? name, "queue"),
    version: options.version === undefined ? null : versionName(options.version, "version"),
    schema: options.input ?? null,
    triggers: (options.on ?? []).map(({ spec }) => spec),
    limits: limitRules(options),
    breaker: options.circuitBreaker === undefined ? null : breakerRule(options.circuitBreaker),
    plan,
    toMermaid: (at) => toMermaid(plan, at?.position ?? null),
    shape: () => drawnGraph(plan),
    serve: (environment) => [graphProgram(made, environment)],
  };
  return made;
}

type AllOptions = Shape<
  Fields,
  Readonly<Record<string, GraphNode<Fields>>>,
  Readonly<Record<string, Edge<Fields, string>>>
> &
  Ends<Fields, unknown, unknown> &
  FlowOptions<unknown> & { readonly input?: Schema; readonly on?: readonly Trigger<unknown>[] };

function planOf(options: AllOptions): GraphPlan {
  const { state, start, nodes, edges, limits = {}, snapshotEvery = DEFAULT_SNAPSHOT_EVERY, init, output } = options;
  const named = Object.entries(nodes).map(([name, node]) => [graphNodeName(name, `nodes.${name}`), nodeKind(node)]);
  const { iterations = DEFAULT_ITERATIONS, timeout, budgets = {} } = limits;
  return {
    start,
    nodes: Object.fromEntries(named),
    edges: Object.fromEntries(Object.entries(edges).map(([from, edge]) => [from, edgeValue(edge)])),
    reducers: state.reducers,
    bounds: {
      iterations: count(iterations, "limits.iterations"),
      timeoutMs: timeout === undefined ? null : toMs(timeout, "limits.timeout"),
      budgets: checkedBudgets(budgets),
    },
    snapshotEvery: count(snapshotEvery, "snapshotEvery"),
    init: (input) => frozen({ ...(init ? init(input) : (input as Fields)) }),
    output: (last) => (output ? output(last) : last),
  };
}

function edgeValue(edge: Edge<Fields, string>): EdgeValue {
  if (typeof edge === "string") return { to: [edge], choose: null, failed: null };
  const { to, failed = null } = edge;
  if (!("choose" in edge)) return { to: typeof to === "string" ? [to] : to, choose: null, failed };
  return { to: typeof to === "string" ? [to] : to, choose: edge.choose, failed };
}

function count(value: number, path: string): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new InvalidInput(path, `must be a whole number from 1; it is ${String(value)}`);
}

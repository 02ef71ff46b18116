// The parts of a graph as plain values: kinds of nodes, edges and limits.

import type { Schema } from "../program/schema.js";
import type { Question } from "../replay/approval-call.js";
import type { Signal } from "../replay/signal.js";
import type { Decision } from "../workflow/context.js";
import { type AttemptRules, attemptRules } from "./attempt-rules.js";
import { GraphChanged } from "./needs-people.js";
import type { CacheRules } from "./node/node-cache.js";
import type { ItemContext, NodeContext } from "./node-context.js";
import type { Fields, Reducers } from "./reducer.js";

/** Omitted fields stay unchanged. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing changes nothing
export type Update<S> = Partial<S> | void;

/** The function of a graph node: returns the fields of the state that it changes. */
export type NodeFunction<S> = (ctx: NodeContext, state: Readonly<S>) => Update<S> | Promise<Update<S>>;

interface OfState<S> {
  /** Carries the type only. */
  readonly "~state"?: (state: S) => S;
}

export interface FunctionNode<S> extends OfState<S> {
  readonly kind: "function";
  readonly rules: AttemptRules;
  readonly run: NodeFunction<S>;
  readonly cache?: CacheRules | null;
}

export interface MapNode<S> extends OfState<S> {
  readonly kind: "map";
  readonly rules: AttemptRules;
  readonly items: (state: Readonly<S>) => readonly unknown[];
  readonly each: (ctx: ItemContext, item: never, state: Readonly<S>) => unknown;
  readonly into: string;
  readonly limit: number;
}

export interface ParallelNode<S> extends OfState<S> {
  readonly kind: "parallel";
  readonly branches: Readonly<Record<string, NodeKind<S>>>;
}

export interface SubgraphNode<S> extends OfState<S> {
  readonly kind: "subgraph";
  readonly graph: { readonly name: string; readonly schema: Schema | null; readonly plan: GraphPlan };
  readonly input: (state: Readonly<S>) => unknown;
  readonly apply: (state: Readonly<S>, output: never) => Update<S>;
}

export interface ApprovalNode<S> extends OfState<S> {
  readonly kind: "approval";
  readonly rules: Pick<Question, "choices" | "to" | "otherwise"> & { readonly timeoutMs: number | null };
  readonly ask: (state: Readonly<S>) => string;
  readonly plan: ((state: Readonly<S>) => unknown) | null;
  readonly apply: (state: Readonly<S>, decision: Decision<never>) => Update<S>;
}

export interface WaitNode<S> extends OfState<S> {
  readonly kind: "wait";
  readonly signal: Signal<never>;
  readonly timeoutMs: number | null;
  readonly apply: (state: Readonly<S>, payload: never) => Update<S>;
}

export type NodeKind<S> =
  | FunctionNode<S>
  | MapNode<S>
  | ParallelNode<S>
  | SubgraphNode<S>
  | ApprovalNode<S>
  | WaitNode<S>;

// biome-ignore lint/suspicious/noExplicitAny: a node over any state
export type AnyNode = NodeKind<any>;

/** A plain function is a node, too. */
export type GraphNode<S> = NodeFunction<S> | NodeKind<S>;

const DEFAULT_RULES = attemptRules({});

export function nodeKind<S>(node: GraphNode<S>): NodeKind<S> {
  return typeof node === "function" ? { kind: "function", rules: DEFAULT_RULES, run: node } : node;
}

export interface EdgeValue {
  /** The targets, in the order they were written. */
  readonly to: readonly string[];
  /** Null: all of them. */
  readonly choose: ((state: Fields) => string | readonly string[]) | null;
  /** The target when the node has failed for good; null: the run fails. */
  readonly failed: string | null;
}

export interface Bounds {
  readonly iterations: number;
  readonly timeoutMs: number | null;
  readonly budgets: Readonly<Record<string, number>>;
}

/** Everything needed to run and draw a graph, without types. */
export interface GraphPlan {
  readonly start: string;
  readonly nodes: Readonly<Record<string, AnyNode>>;
  readonly edges: Readonly<Record<string, EdgeValue>>;
  readonly reducers: Reducers;
  readonly bounds: Bounds;
  readonly snapshotEvery: number;
  readonly init: (input: unknown) => Fields;
  readonly output: (state: Fields) => unknown;
}

/**
 * The graph inside a node, by the node's path. Null: the graph no longer has such a node. That matters only to a run that is still there; a run that has left it
 * continues.
 */
export function planAt(plan: GraphPlan, path: string): GraphPlan | null {
  if (path === "") return plan;
  const node = nodeAt(plan, path);
  return node?.kind === "subgraph" ? node.graph.plan : null;
}

export function nodeAt(plan: GraphPlan, path: string): AnyNode | undefined {
  let inside: Readonly<Record<string, AnyNode>> | null = plan.nodes;
  let node: AnyNode | undefined;
  for (const name of path.split("/")) {
    node = inside && Object.hasOwn(inside, name) ? inside[name] : undefined;
    if (!node) return undefined;
    inside = node.kind === "parallel" ? node.branches : node.kind === "subgraph" ? node.graph.plan.nodes : null;
  }
  return node;
}

export function own(nodes: Readonly<Record<string, AnyNode>>, name: string, path: string): AnyNode {
  const node = Object.hasOwn(nodes, name) ? nodes[name] : undefined;
  if (!node) throw new GraphChanged(path);
  return node;
}

/** As it is stored and drawn. */
export function drawnGraph({ start, nodes, edges }: GraphPlan): object {
  const arrows = Object.entries(edges).flatMap(([from, { to, failed }]) => [
    ...to.map((one) => ({ from, to: one })),
    ...(failed === null ? [] : [{ from, to: failed, failed: true }]),
  ]);
  const named = Object.entries(nodes).map(([name, { kind }]) => ({ name, kind }));
  const ends = arrows.some(({ to }) => to === "end") ? [{ name: "end", kind: "end" }] : [];
  return { kind: "graph", start, nodes: [...named, ...ends], edges: arrows };
}

// The type of a graph, and what can be derived from it.

import type { Definition } from "../program/definition.js";
import type { GraphPlan } from "./plan.js";

/** `In` is the input of a start; `S` the state, `N` the names of the nodes. */
export interface Graph<Name extends string, S, N extends string, In, Out, Parsed = In>
  extends Definition<Name, In, Out, Parsed> {
  readonly kind: "graph";
  /** The graph as the runtime executes it. */
  readonly plan: GraphPlan;
  /** As a Mermaid flow chart; with a run's position from `graphs.position` highlighted. */
  toMermaid(at?: { readonly position: string | null }): string;
  /** Carries the types only. */
  readonly "~graph"?: (state: S, node: N) => [S, N];
}

// biome-ignore lint/suspicious/noExplicitAny: any graph, whatever it takes and returns
export type AnyGraph = Graph<string, any, any, any, any, any>;
export type StateOf<G> = G extends Graph<string, infer S, infer _N, infer _In, infer _Out, infer _P> ? S : never;
export type NodeOf<G> = G extends Graph<string, infer _S, infer N, infer _In, infer _Out, infer _P> ? N : never;

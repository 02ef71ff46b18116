// Finds the graph inside a node, by the node's path.

import { GraphChanged } from "./needs-people.js";
import type { AnyNode, GraphPlan } from "./plan.js";

/**
 * Null: the graph no longer has such a node. That matters only to a run that is still there; a run that has left it
 * continues.
 */
export function planAt(plan: GraphPlan, path: string): GraphPlan | null {
  if (path === "") return plan;
  const node = nodeAt(plan, path);
  return node?.kind === "subgraph" ? node.graph.plan : null;
}

function nodeAt(plan: GraphPlan, path: string): AnyNode | undefined {
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

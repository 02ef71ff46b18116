// Finds the graph that runs inside a node, by the node's path.

import { HoldfastError } from "../kernel/error.js";
import type { AnyNode, GraphPlan } from "./plan.js";

/** The journal knows a node that the graph no longer has. The log is untouched: the run goes on when code that fits is deployed. */
export class GraphChanged extends HoldfastError {
  readonly code = "GRAPH_CHANGED";

  constructor(path: string) {
    super(
      `The journal has ${JSON.stringify(path)} under way, and the graph has no such node. ` +
        "Deploy a graph that has it, then redrive the run; or rewind the run to a node that is there.",
    );
  }
}

export function planAt(plan: GraphPlan, path: string): GraphPlan {
  if (path === "") return plan;
  const node = nodeAt(plan, path);
  if (node.kind !== "subgraph") throw new GraphChanged(path);
  return node.graph.plan;
}

function nodeAt(plan: GraphPlan, path: string): AnyNode {
  const [first, ...rest] = path.split("/");
  let node = own(plan.nodes, first!, path);
  for (const name of rest) {
    if (node.kind === "parallel") node = own(node.branches, name, path);
    else if (node.kind === "subgraph") node = own(node.graph.plan.nodes, name, path);
    else throw new GraphChanged(path);
  }
  return node;
}

export function own(nodes: Readonly<Record<string, AnyNode>>, name: string, path: string): AnyNode {
  const node = Object.hasOwn(nodes, name) ? nodes[name] : undefined;
  if (!node) throw new GraphChanged(path);
  return node;
}

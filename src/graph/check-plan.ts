// Checks that a graph can run: every edge leads to a node, every node is reachable, and an end is reachable from each.

import { HoldfastError } from "../kernel/error.js";
import { stepName } from "../kernel/name.js";
import type { EdgeValue, GraphPlan } from "./plan.js";
import { END } from "./position.js";

/** The graph cannot be run. Nothing was started. */
export class GraphInvalid extends HoldfastError {
  readonly code = "GRAPH_INVALID";
  /** The name of the graph. */
  readonly graph: string;
  /** What is wrong with it. */
  readonly problem: "unknown node" | "unreachable node" | "no way to an end" | "bad edge";

  constructor(graph: string, problem: GraphInvalid["problem"], says: string) {
    super(`Graph ${JSON.stringify(graph)} has ${article(problem)}: ${says}`);
    this.graph = graph;
    this.problem = problem;
  }
}

export function checkPlan(name: string, { start, nodes, edges }: Pick<GraphPlan, "start" | "nodes" | "edges">): void {
  const isNode = (target: string) => Object.hasOwn(nodes, target);
  const invalid = (problem: GraphInvalid["problem"], says: string) => new GraphInvalid(name, problem, says);
  if (!isNode(start)) throw invalid("unknown node", `it starts at ${quote(start)}, which is not one of its nodes.`);
  for (const node of Object.keys(nodes)) {
    if (!Object.hasOwn(edges, node))
      throw invalid("bad edge", `${quote(node)} has no edge. Add one, to "end" if it is the last node.`);
  }
  for (const [node, edge] of Object.entries(edges)) {
    if (!isNode(node))
      throw invalid("unknown node", `there is an edge from ${quote(node)}, which is not one of its nodes.`);
    const lost = targetsOf(edge).find((target) => target !== END && !isNode(target));
    if (lost !== undefined)
      throw invalid("unknown node", `${quote(node)} leads to ${quote(lost)}, which is not one of its nodes.`);
    if (edge.choose === null && edge.to.length > 1 && edge.to.includes(END))
      throw invalid("bad edge", `${quote(node)} leads to several targets, one of them "end". Leave "end" out.`);
    if (edge.to.length === 0) throw invalid("bad edge", `${quote(node)} has no target.`);
  }
  const reached = reach([start], (node) => targetsOf(edges[node]!).filter(isNode));
  const lost = Object.keys(nodes).filter((node) => !reached.has(node));
  if (lost.length > 0)
    throw invalid("unreachable node", `no edge leads from ${quote(start)} to ${lost.map(quote).join(", ")}.`);
  const ends = Object.keys(nodes).filter((node) => targetsOf(edges[node]!).includes(END));
  const leaving = reach(ends, (node) => Object.keys(nodes).filter((from) => targetsOf(edges[from]!).includes(node)));
  const caught = Object.keys(nodes).filter((node) => !leaving.has(node));
  if (caught.length > 0)
    throw invalid("no way to an end", `from ${caught.map(quote).join(", ")} no edge leads to "end".`);
}

/**
 * An approval receives its decision under the name of its path: if no message may have that name, it could never be
 * decided.
 */
export function checkPaths(nodes: GraphPlan["nodes"], outer = ""): void {
  for (const [name, node] of Object.entries(nodes)) {
    const path = stepName(`${outer}${name}`, `nodes.${outer}${name}`);
    if (node.kind === "parallel") checkPaths(node.branches, `${path}/`);
    if (node.kind === "subgraph") checkPaths(node.graph.plan.nodes, `${path}/`);
  }
}

export function targetsOf({ to, failed }: EdgeValue): readonly string[] {
  return failed === null ? to : [...to, failed];
}

function reach(from: readonly string[], next: (node: string) => readonly string[]): ReadonlySet<string> {
  const reached = new Set(from);
  for (const node of reached) for (const other of next(node)) reached.add(other);
  return reached;
}

function article(problem: string): string {
  return problem.startsWith("un") ? `an ${problem}` : problem.startsWith("no ") ? problem : `a ${problem}`;
}

const quote = (text: string) => JSON.stringify(text);

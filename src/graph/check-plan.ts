// Whether a graph can be run at all: every edge leads to a node, every node can be reached, and from each there is a way to an end.

import { HoldfastError } from "../kernel/error.js";
import { stepName } from "../kernel/name.js";
import type { EdgeValue, GraphPlan } from "./plan.js";
import { END } from "./position.js";

/** A graph that could not be run. Nothing was started. */
export class GraphInvalid extends HoldfastError {
  readonly code = "GRAPH_INVALID";
  readonly graph: string;
  readonly problem: "unknown node" | "unreachable node" | "no way to an end" | "bad edge";

  constructor(graph: string, problem: GraphInvalid["problem"], says: string) {
    super(`Graph ${JSON.stringify(graph)} has ${article(problem)}: ${says}`);
    this.graph = graph;
    this.problem = problem;
  }
}

export function checkPlan(name: string, { start, nodes, edges }: Pick<GraphPlan, "start" | "nodes" | "edges">): void {
  const isNode = (target: string) => Object.hasOwn(nodes, target);
  if (!isNode(start))
    throw new GraphInvalid(name, "unknown node", `it starts at ${quote(start)}, which is none of its nodes.`);
  for (const node of Object.keys(nodes)) {
    if (!Object.hasOwn(edges, node))
      throw new GraphInvalid(
        name,
        "bad edge",
        `${quote(node)} leads nowhere. Give it an edge, to "end" if it is the last.`,
      );
  }
  for (const [node, edge] of Object.entries(edges)) {
    if (!isNode(node))
      throw new GraphInvalid(name, "unknown node", `there is an edge from ${quote(node)}, which is none of its nodes.`);
    for (const target of targetsOf(edge))
      if (target !== END && !isNode(target))
        throw new GraphInvalid(
          name,
          "unknown node",
          `${quote(node)} leads to ${quote(target)}, which is none of its nodes.`,
        );
    if (edge.choose === null && edge.to.length !== 1)
      throw new GraphInvalid(name, "bad edge", `${quote(node)} has ${edge.to.length} targets and no \`choose\`.`);
    if (edge.to.length === 0) throw new GraphInvalid(name, "bad edge", `${quote(node)} has no target.`);
  }
  const reached = reach([start], (node) => targetsOf(edges[node]!).filter(isNode));
  const lost = Object.keys(nodes).filter((node) => !reached.has(node));
  if (lost.length > 0)
    throw new GraphInvalid(
      name,
      "unreachable node",
      `no edge leads from ${quote(start)} to ${lost.map(quote).join(", ")}.`,
    );
  const ends = Object.keys(nodes).filter((node) => targetsOf(edges[node]!).includes(END));
  const leaving = reach(ends, (node) => Object.keys(nodes).filter((from) => targetsOf(edges[from]!).includes(node)));
  const caught = Object.keys(nodes).filter((node) => !leaving.has(node));
  if (caught.length > 0)
    throw new GraphInvalid(name, "no way to an end", `from ${caught.map(quote).join(", ")} no edge leads to "end".`);
}

/** A gate is told its decision by the name of its path: one that no message may have could never be opened. */
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

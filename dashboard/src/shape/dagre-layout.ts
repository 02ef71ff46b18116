// Lays out a graph with dagre. Runs in the worker.

import { Graph, layout } from "@dagrejs/dagre";
import type { GraphToLay, Layout } from "../draw/layout.js";

export function dagreLayout({ boxes, arrows, direction }: GraphToLay): Layout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 18, ranksep: 56, marginx: 2, marginy: 2 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height });
  for (const [i, { from, to, label }] of arrows.entries()) {
    const width = label === undefined ? 0 : label.length * 6.2 + 8;
    graph.setEdge(from, to, { width, height: label === undefined ? 0 : 16, labelpos: "c" }, String(i));
  }
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    boxes: boxes.map((box) => {
      const { x, y } = graph.node(box.id) as { x: number; y: number };
      return { ...box, x: x - box.width / 2, y: y - box.height / 2 };
    }),
    arrows: arrows.map((arrow, i) => {
      const { points } = graph.edge(arrow.from, arrow.to, String(i)) as { points: { x: number; y: number }[] };
      return { ...arrow, points };
    }),
  };
}

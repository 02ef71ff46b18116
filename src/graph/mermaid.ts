// Draws a graph as a Mermaid flow chart, with a run's current node highlighted.

import type { AnyNode, GraphPlan } from "./plan.js";
import { END, parsePosition, positionsIn } from "./position.js";

/** `position`: a run's position, like `review:2`; null: none yet. */
export function toMermaid({ start, nodes, edges }: GraphPlan, position: string | null): string {
  const ids = new Map(Object.keys(nodes).map((name, i) => [name, `n${i}`]));
  const idOf = (name: string) => (name === END ? "done" : ids.get(name)!);
  const at = position === null ? [] : positionsIn(position).map(parsePosition);
  const lines = Object.entries(nodes).map(([name, node]) => {
    const visit = at.find((one) => one.node === name)?.visit ?? 1;
    return `  ${idOf(name)}${shape(node, visit > 1 ? `${name} · ${visit}` : name)}`;
  });
  const arrows = Object.entries(edges).flatMap(([from, { to, choose, failed }]) => [
    ...to.map((target) => `  ${idOf(from)} ${choose ? "-.->" : "-->"} ${idOf(target)}`),
    ...(failed === null ? [] : [`  ${idOf(from)} -- failed --> ${idOf(failed)}`]),
  ]);
  const marked = (position === END ? [END] : at.map(({ node }) => node)).map(idOf).join(",");
  return [
    "flowchart TD",
    `  begin((start)) --> ${idOf(start)}`,
    ...lines,
    "  done((end))",
    ...arrows,
    ...(marked ? ["  classDef here stroke-width:4px", `  class ${marked} here`] : []),
    "",
  ].join("\n");
}

function shape(node: AnyNode, name: string): string {
  const text = `"${label(node, name).replaceAll('"', "#quot;")}"`;
  switch (node.kind) {
    case "function":
      return `[${text}]`;
    case "map":
    case "parallel":
    case "subgraph":
      return `[[${text}]]`;
    case "approval":
      return `{{${text}}}`;
    case "wait":
      return `([${text}])`;
  }
}

function label(node: AnyNode, name: string): string {
  if (node.kind === "map") return `${name} for each`;
  if (node.kind === "parallel") return `${name}: ${Object.keys(node.branches).join(" | ")}`;
  if (node.kind === "subgraph") return `${name}: ${node.graph.name}`;
  return name;
}

// A graph that could not run is rejected where it is defined, with the name of what is wrong; and how a graph is drawn.

import { describe, expect, test } from "vitest";
import { append, GraphInvalid, graph, state } from "../../src/graph/index.js";
import { InvalidInput } from "../../src/index.js";

const S = state<{ n: number; log: string[] }>({ log: append() });
const step = () => {};
/** What the compiler would reject, as a caller without types would write it. */
const made = (start: string, edges: Record<string, unknown>, nodes = ["a", "b", "c"]) =>
  graph("shape", {
    state: S,
    start,
    nodes: Object.fromEntries(nodes.map((name) => [name, step])),
    edges: edges as never,
  });

describe("a graph is refused with", () => {
  test.each([
    ["unknown node", "x", { a: "b", b: "c", c: "end" }, 'it starts at "x"'],
    ["unknown node", "a", { a: "b", b: "x", c: "end" }, '"b" leads to "x"'],
    ["unknown node", "a", { a: "b", b: { to: "c", failed: "x" }, c: "end" }, '"b" leads to "x"'],
    ["unknown node", "a", { a: "b", b: "c", c: "end", x: "end" }, 'an edge from "x"'],
    ["unknown node", "a", { a: "b", b: "c", c: "toString" }, '"c" leads to "toString"'],
    ["unreachable node", "a", { a: "b", b: "end", c: "end" }, 'no edge leads from "a" to "c"'],
    ["no way to an end", "a", { a: "b", b: "c", c: "b" }, 'from "a", "b", "c" no edge leads to "end"'],
    ["no way to an end", "a", { a: { to: ["b", "end"], choose: step }, b: "c", c: "b" }, 'from "b", "c" no edge leads'],
    ["bad edge", "a", { a: "b", b: "c" }, '"c" has no edge'],
    ["bad edge", "a", { a: { to: ["b", "end"] }, b: "c", c: "end" }, 'Leave "end" out'],
    ["bad edge", "a", { a: { to: [], choose: step }, b: "c", c: "end" }, '"a" has no target'],
  ])("%s, start %s, edges %j", (problem, start, edges, says) => {
    const error = thrown(() => made(start, edges));
    expect(error).toBeInstanceOf(GraphInvalid);
    expect(error).toMatchObject({ code: "GRAPH_INVALID", graph: "shape", problem });
    expect((error as Error).message).toContain(says);
  });

  test.each(["end", "a/b", "a:b", "7", ""])("a node named %j", (name) => {
    expect(thrown(() => made(name, { [name]: "end" }, [name]))).toBeInstanceOf(InvalidInput);
  });

  test("invalid limits", () => {
    const one = { state: S, start: "a", nodes: { a: step }, edges: { a: "end" } } as const;
    for (const limits of [
      { iterations: 0 },
      { iterations: 1.5 },
      { timeout: "soon" as "1s" },
      { budgets: { tokens: -1 } },
      { budgets: { tokens: "many" as unknown as number } },
    ])
      expect(thrown(() => graph("limited", { ...one, limits }))).toBeInstanceOf(InvalidInput);
    expect(thrown(() => graph("limited", { ...one, snapshotEvery: 0 }))).toBeInstanceOf(InvalidInput);
  });
});

test("a path to an end may use a failure edge or a choice", () => {
  made("a", { a: { to: "b", failed: "end" }, b: "c", c: "a" });
  made("a", { a: { to: ["b", "c"], choose: () => "b" }, b: "a", c: "end" });
});

test("a graph is drawn with its kinds of nodes and edges, and with where a run is", () => {
  const inner = graph("inner", { state: S, start: "only", nodes: { only: step }, edges: { only: "end" } });
  const all = graph("all", {
    state: S,
    start: "plan",
    nodes: {
      plan: step,
      "each one": S.map(
        () => ["x"],
        (_ctx, item) => item,
        { into: "log" },
      ),
      fan: S.parallel({ left: step, right: step }),
      sub: S.subgraph(inner, { input: (s) => s, apply: step }),
      gate: S.approval({ ask: () => "?", apply: step }),
    },
    edges: {
      plan: { to: ["each one", "end"], choose: (_s) => "end" },
      "each one": { to: "fan", failed: "gate" },
      fan: "sub",
      sub: "gate",
      gate: "plan",
    },
  });
  expect(all.toMermaid().split("\n")).toEqual([
    "flowchart TD",
    "  begin((start)) --> n0",
    '  n0["plan"]',
    '  n1[["each one for each"]]',
    '  n2[["fan: left | right"]]',
    '  n3[["sub: inner"]]',
    '  n4{{"gate"}}',
    "  done((end))",
    "  n0 -.-> n1",
    "  n0 -.-> done",
    "  n1 --> n2",
    "  n1 -- failed --> n4",
    "  n2 --> n3",
    "  n3 --> n4",
    "  n4 --> n0",
    "",
  ]);
  expect(all.toMermaid({ position: "plan:3" })).toContain('n0["plan · 3"]');
  expect(all.toMermaid({ position: "plan:3" })).toContain("class n0 here");
  expect(all.toMermaid({ position: "end" })).toContain("class done here");
  expect(all.toMermaid({ position: null })).not.toContain("here");
});

function thrown(make: () => unknown): unknown {
  try {
    make();
  } catch (error) {
    return error;
  }
  return undefined;
}

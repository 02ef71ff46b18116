// Shapes as data: levels, layouts with cycles and nesting, active states, and the form that starts a run.

import { describe, expect, test } from "vitest";
import { attentionLink } from "../../dashboard/src/draw/attention.js";
import { activeStates, isActive, layChart } from "../../dashboard/src/draw/chart.js";
import { doing } from "../../dashboard/src/draw/doing.js";
import { marksOf, seriesOf, summaryOf } from "../../dashboard/src/draw/figures.js";
import { fieldsOf, inputOf } from "../../dashboard/src/draw/input-form.js";
import { arrowPath, distances, levelLayout } from "../../dashboard/src/draw/layout.js";
import { levelsOf, type MachineShape, visitedShape } from "../../dashboard/src/draw/shape.js";
import { age, cappedCount, countdown, duration, rate, share } from "../../dashboard/src/draw/words.js";
import { dagreLayout } from "../../dashboard/src/shape/dagre-layout.js";
import { START } from "./fixture/clock.js";
import { figuresOf } from "./fixture/figures.js";
import { run } from "./fixture/runs.js";
import { SHAPES } from "./fixture/shapes.js";

const box = (id: string) => ({ id, width: 100, height: 40 });

describe("a layout", () => {
  test("puts tasks after everything they need", () => {
    const levels = levelsOf([
      { name: "report", needs: ["clean", "join"] },
      { name: "join", needs: ["clean"] },
      { name: "clean", needs: [] },
    ]);
    expect([...levels].sort()).toEqual([
      ["clean", 0],
      ["join", 1],
      ["report", 2],
    ]);
  });

  test("ends although needs form a cycle", () => {
    expect(
      levelsOf([
        { name: "a", needs: ["b"] },
        { name: "b", needs: ["a"] },
      ]).size,
    ).toBe(2);
  });

  test("draws cycles and loops", () => {
    const arrows = [
      { from: "a", to: "b" },
      { from: "b", to: "a" },
      { from: "a", to: "a" },
    ];
    const laid = dagreLayout({ boxes: [box("a"), box("b")], arrows, direction: "LR" });
    expect(laid.boxes).toHaveLength(2);
    expect(laid.arrows.every(({ points }) => points.length > 1 && arrowPath(points).startsWith("M"))).toBe(true);
  });

  test("falls back to levels, without boxes that overlap", () => {
    const graph = {
      boxes: ["a", "b", "c"].map(box),
      arrows: [
        { from: "a", to: "b" },
        { from: "a", to: "c" },
      ],
      direction: "LR" as const,
    };
    const far = distances("a", graph.arrows);
    const { boxes, width, height } = levelLayout(graph, (id) => far.get(id) ?? 0);
    expect(boxes.map(({ id, x, y }) => [id, x, y])).toEqual([
      ["a", 0, 0],
      ["b", 146, 0],
      ["c", 146, 58],
    ]);
    expect([width, height]).toEqual([246, 98]);
  });

  test("nests a state chart and lifts arrows that cross a border", () => {
    const { root } = SHAPES["orders"] as MachineShape;
    const chart = layChart(root, dagreLayout);
    const of = (id: string) => chart.boxes.find((one) => one.id === id)!;
    const [outer, inner] = [of("paid"), of("paid.packing")];
    expect(inner.x >= outer.x && inner.x + inner.width <= outer.x + outer.width).toBe(true);
    expect(inner.y >= outer.y && inner.y + inner.height <= outer.y + outer.height).toBe(true);
    // DELIVERED leaves from a state inside of "paid": its arrow begins at the border of "paid".
    expect(chart.arrows.map(({ from, to, label }) => `${from} ${label} ${to}`)).toContain("paid DELIVERED delivered");
  });
});

test("the states of an instance are paths, and an active state makes its ancestors active", () => {
  expect(activeStates("pending")).toEqual(["pending"]);
  expect(activeStates({ paid: { left: "a", right: "b" } })).toEqual(["paid.left.a", "paid.right.b"]);
  expect(isActive("paid", ["paid.left.a"])).toBe(true);
  expect(isActive("pai", ["paid.left.a"])).toBe(false);
});

test("a graph without a stored shape is drawn from its visits", () => {
  const shape = visitedShape([
    { position: "plan:1", next: "search:1" },
    { position: "search:1", next: "plan:2" },
    { position: "plan:2", next: null },
  ]);
  expect(shape.nodes.map(({ name }) => name)).toEqual(["plan", "search"]);
  expect(shape.edges).toHaveLength(2);
});

test("the form of an input gives the input back", () => {
  const schema = {
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "string" },
      cents: { type: "integer" },
      express: { type: "boolean" },
      lines: { type: "array" },
    },
  };
  expect(fieldsOf(schema)?.map(({ kind }) => kind)).toEqual(["text", "number", "check", "json"]);
  const values = { "input.id": "o-1", "input.cents": "12", "input.express": "on", "input.lines": "[1]" };
  expect(inputOf(schema, values)).toEqual({ id: "o-1", cents: 12, express: true, lines: [1] });
  expect(inputOf(schema, { "input.id": "o-1", "input.cents": "" })).toEqual({ id: "o-1" });
  expect(fieldsOf({ type: "string" })).toBeNull();
});

test("figures become series, a summary and marks", () => {
  const { figures, stepSeconds } = figuresOf("1h", undefined);
  const series = seriesOf(figures, stepSeconds);
  expect(series.at).toHaveLength(180);
  expect(summaryOf(figures, stepSeconds).endedPerSecond).toBeGreaterThan(10);
  expect(summaryOf([], 10)).toEqual({ endedPerSecond: 0, failedShare: 0, p95Ms: null, oldestMs: null });
  const nodes = [
    { build: "2", startedAt: "2026-11-17T10:00:05Z" },
    { build: "2", startedAt: "2026-11-17T10:00:00Z" },
  ];
  const marks = marksOf(nodes, [{ at: "2026-11-17T10:00:01.2Z" }, { at: "2026-11-17T10:00:01.9Z" }]);
  expect(marks.map(({ kind, text }) => [kind, text])).toEqual([
    ["deploy", "2"],
    ["takeover", "2 takeovers"],
  ]);
});

test("a run says what it is up to", () => {
  const says = (change: Parameters<typeof run>[2]) => doing(run(1, "order", change), START);
  expect(says({ noCapableNode: true })).toBe("no capable node");
  expect(says({ state: "blocked", pending: 2 })).toBe("waits for 2 tasks");
  expect(says({ state: "quarantined", misfit: { builds: ["2.4.1"], wanted: null } })).toBe(
    "journal does not fit build 2.4.1",
  );
  expect(says({ failures: 1, availableAt: new Date(START + 22_000).toISOString() })).toBe("attempt 2 in 22 s");
});

test("words are short and the same everywhere", () => {
  expect([340, 1_900, 12_000, 540_000, 10_800_000, 345_600_000].map(duration)).toEqual([
    "340 ms",
    "1.9 s",
    "12 s",
    "9 min",
    "3 h",
    "4 d",
  ]);
  expect([400, 3_400, 61_000].map(age)).toEqual(["now", "3 s", "61 s"]);
  expect([61_000, 3_849_000].map(countdown)).toEqual(["01:01", "1:04:09"]);
  expect([0, 0.05, 4.25, 412.4].map(rate)).toEqual(["0", "3.0/min", "4.3", "412"]);
  expect([0, 0.0004, 0.021, 0.5].map(share)).toEqual(["0", "< 0.1 %", "2.1 %", "50 %"]);
  expect(cappedCount({ n: 10_000, atLeast: true })).toBe("more than 10 000");
});

test("every line that needs attention leads somewhere", () => {
  for (const kind of [
    "no capable node",
    "dead letters",
    "silent node",
    "approval",
    "breaker",
    "paused queue",
    "late timer",
  ] as const) {
    expect(attentionLink({ kind, object: "a b", text: "", since: null, n: null }).to).toMatch(/^\/[a-z]+/);
  }
});

// What an edited definition changes, and gaps in figures: drawing code, without a browser.

import { expect, test } from "vitest";
import { seriesOf } from "../../dashboard/src/draw/figures.js";
import { changeText, jsonChanges } from "../../dashboard/src/draw/json-changes.js";

test("changed, added and removed fields are listed with their paths", () => {
  const before = { tasks: { a: { retry: 1, run: "x" }, b: {} }, list: [1, 2] };
  const after = { tasks: { a: { retry: 3, run: "x" } }, list: [1, 2, 3] };
  expect(jsonChanges(before, after).map(changeText)).toEqual(["tasks.a.retry: 1 → 3", "− tasks.b: {}", "+ list.2: 3"]);
  expect(jsonChanges(before, structuredClone(before))).toEqual([]);
  expect(jsonChanges({ a: [] }, { a: {} }).map(changeText)).toEqual(["a: [] → {}"]);
});

test("a name of Object's own is a field like any other", () => {
  const parsed = JSON.parse('{"__proto__":{"x":1},"constructor":1}') as object;
  expect(jsonChanges({}, parsed).map(({ path }) => path)).toEqual(["__proto__", "constructor"]);
});

test("a time without figures is a gap, not a line", () => {
  const figure = (at: string) => ({
    at,
    started: 1,
    completed: 10,
    failed: 0,
    p95Ms: 5,
    waiting: 0,
    running: 0,
    oldestMs: null,
  });
  const at = ["10:00:00", "10:00:10", "10:05:00"].map((time) => figure(`2026-01-01T${time}.000Z`));
  expect(seriesOf(at, 10).endedPerSecond).toEqual([1, 1, null, 1]);
});

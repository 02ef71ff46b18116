// Filters: what they mean, and what they contain.

import { describe, expect, test } from "vitest";
import { contains } from "../../src/kernel/contains.js";
import { event, on } from "../../src/trigger/event.js";
import { filtersOf } from "../../src/trigger/filter.js";
import { every } from "../../src/trigger/schedule.js";

const refused = expect.objectContaining({ code: "INVALID_INPUT" });

describe("the meaning of a filter", () => {
  test("no filter matches everything; several values with in are one alternative each", () => {
    expect(filtersOf(undefined)).toEqual([]);
    expect(filtersOf({})).toEqual([{}]);
    expect(filtersOf({ a: { in: [1, 2] }, b: { c: { in: ["x", "y"] } }, d: true })).toEqual([
      { a: 1, b: { c: "x" }, d: true },
      { a: 1, b: { c: "y" }, d: true },
      { a: 2, b: { c: "x" }, d: true },
      { a: 2, b: { c: "y" }, d: true },
    ]);
  });

  test("a field named in, next to others or without a list, is a field", () => {
    expect(filtersOf({ in: 1 })).toEqual([{ in: 1 }]);
    expect(filtersOf({ a: { in: "x" } })).toEqual([{ a: { in: "x" } }]);
  });

  test("values that cannot be compared by equality, match nothing or are cyclic are rejected", () => {
    for (const where of [
      { a: [1] },
      { a: () => 1 },
      { a: Number.NaN },
      { a: 1n },
      { a: { in: [] } },
      { a: "\0" },
      { "\ud800": 1 },
    ])
      expect(() => filtersOf(where)).toThrow(refused);
    const ten = { in: Array.from({ length: 11 }, (_, i) => i) };
    expect(() => filtersOf({ a: ten, b: ten })).toThrow(refused);
  });
});

test("containment is that of jsonb", () => {
  const payload = { a: 1, b: { c: "x", d: null }, e: [1, 2], f: "1" };
  for (const filter of [{}, { a: 1 }, { b: { c: "x" } }, { b: { d: null } }, { b: {} }, { a: 1, f: "1" }])
    expect(contains(payload, filter)).toBe(true);
  for (const filter of [
    { a: "1" },
    { f: 1 },
    { b: { c: "y" } },
    { g: null },
    { b: "x" },
    { a: { b: 1 } },
    { toString: null },
  ])
    expect(contains(payload, filter)).toBe(false);
});

test("a debounce needs a subject; names and durations are checked at the definition", () => {
  const updated = event<{ id: string }>()("updated");
  expect(() => on(updated, { debounce: "1s" })).toThrow(refused);
  expect(() => event<object>()("")).toThrow(refused);
  expect(() => every("10ms")).toThrow(refused);
  expect(on(updated, { subject: "id", debounce: "1s", once: "1h" }).spec).toEqual({
    kind: "event",
    event: "updated",
    where: [],
    subject: ["id"],
    debounceMs: 1000,
    lifetime: { forMs: 3_600_000 },
    per: "env",
  });
});

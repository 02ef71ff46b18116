// Patterns over queue names: the document's own, every rule, hostile ones, and any against a matcher that tries everything.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidInput, LimitExceeded } from "../../src/kernel/error.js";
import { LONGEST_PATTERN, queuePattern } from "../../src/kernel/queue-pattern.js";

const matches = (pattern: string, queue: string) => queuePattern(pattern).matches(queue);

describe("a pattern matches what it says and nothing else", () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ["ml::train", ["ml::train"], ["ml::trainer", "ml", "train", "a::ml::train", "ml::train::b", "ML::train"]],
    ["ml::*", ["ml::train", "ml::predict"], ["etl::extract", "ml", "ml::a::b", "x::ml::a", "mlx::a"]],
    [
      "**::batch::*",
      ["batch::a", "etl::batch::load", "a::b::batch::c"],
      ["batch", "etl::batch", "batch::a::b", "xbatch::a"],
    ],
    [
      "heavy_*",
      ["heavy_compute", "ml::heavy_train", "a::b::heavy_"],
      ["heavy", "heavy_a::light", "xheavy_a", "Heavy_a"],
    ],
    ["*_gpu", ["train_gpu", "ml::train_gpu", "_gpu"], ["gpu", "train_gpu::b", "train_gpux"]],
    ["**::heavy_*", ["ml::heavy_train", "etl::data::heavy_load", "heavy_x"], ["ml::light", "heavy_x::y"]],
    ["**", ["a", "a::b", "a::b::c"], []],
    ["*", ["a", "a::b", "a::b::c"], []],
    ["a::**", ["a", "a::b", "a::b::c"], ["b", "ab::c", "b::a"]],
    ["a::**::z", ["a::z", "a::b::z", "a::b::c::z"], ["a", "z", "a::z::b", "az"]],
    ["**::a::**", ["a", "a::b", "b::a", "b::a::c"], ["b", "ab", "b::ab::c"]],
    ["a::*::c", ["a::b::c"], ["a::c", "a::b::b::c"]],
    ["*::*", ["a::b"], ["a", "a::b::c"]],
    ["a*b*c", ["abc", "axbyc", "q::abbc"], ["ab", "acb", "abcd"]],
    ["ab*ba", ["abba", "abxba"], ["aba", "ab", "ba"]],
    ["orders", ["orders", "eu::orders"], ["orders::eu", "order"]],
    ["v1.2-*", ["v1.2-beta", "a::v1.2-"], ["v1x2-beta"]],
  ])("%s", (pattern, yes, no) => {
    for (const queue of yes) expect(matches(pattern, queue), queue).toBe(true);
    for (const queue of no) expect(matches(pattern, queue), queue).toBe(false);
  });

  test("a task of a DAG, whose queue has its DAG's name before it, is found by its own name", () => {
    expect(matches("heavy_*", "etl::heavy_load")).toBe(true);
    expect(matches("heavy_*", "nightly::etl::heavy_load")).toBe(true);
  });
});

describe("an invalid pattern is rejected", () => {
  test.each<[unknown, RegExp]>([
    ["", /none of them empty/],
    ["ml::", /none of them empty/],
    ["::train", /none of them empty/],
    ["a::::b", /none of them empty/],
    ["a:b", /has the characters/],
    ["a b", /has the characters/],
    ["a?", /has the characters/],
    ["[ab]", /has the characters/],
    ["ä*", /has the characters/],
    ["a\0", /has the characters/],
    ["a\n", /has the characters/],
    ["a**b", /must be a segment of its own/],
    ["***", /must be a segment of its own/],
    ["a::**b", /must be a segment of its own/],
    [7, /is a string, not number/],
    [null, /is a string/],
    [["a"], /is a string/],
  ])("%j", (pattern, problem) => {
    expect(() => queuePattern(pattern, "serve[3]")).toThrow(InvalidInput);
    expect(() => queuePattern(pattern, "serve[3]")).toThrow(problem);
    expect(() => queuePattern(pattern, "serve[3]")).toThrow(/^serve\[3\]: /);
  });

  test("a pattern that is too long", () => {
    expect(queuePattern("a".repeat(LONGEST_PATTERN)).text).toHaveLength(LONGEST_PATTERN);
    expect(() => queuePattern("a".repeat(LONGEST_PATTERN + 1))).toThrow(LimitExceeded);
  });
});

test.each<[string, string]>([
  [`${"**::".repeat(60)}b`, `${"a::".repeat(40)}a`],
  [`${"**::a::".repeat(30)}b`, `${"a::".repeat(42)}a`],
  [`${"*a".repeat(127)}b`, "a".repeat(128)],
  [`${"*a".repeat(60)}*b::**`, `${"a".repeat(120)}::c`],
  ["**::*a*a*a*a*a*a*a*a*a*a*a*a*b", Array.from({ length: 4 }, () => "a".repeat(30)).join("::")],
])("a hostile pattern costs no more than its length times the name's (F76): %s", (pattern, queue) => {
  const compiled = queuePattern(pattern);
  const before = performance.now();
  for (let i = 0; i < 100; i++) expect(compiled.matches(queue)).toBe(false);
  // 100 times 33,000 comparisons at most; one that tries everything again takes years.
  expect(performance.now() - before).toBeLessThan(5_000);
});

/** Tries every way: exponential, and plainly right. */
function naive(
  pattern: readonly string[],
  items: readonly string[],
  any: string,
  same: (a: string, b: string) => boolean,
): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return items.length === 0;
  if (first === any) return items.some((_, i) => naive(rest, items.slice(i), any, same)) || naive(rest, [], any, same);
  return items.length > 0 && same(first, items[0]!) && naive(rest, items.slice(1), any, same);
}
const naiveMatch = (pattern: string, queue: string) => {
  const written = pattern.split("::");
  const segments = written.length === 1 ? queue.split("::").slice(-1) : queue.split("::");
  return naive(written, segments, "**", (part, segment) => naive([...part], [...segment], "*", (a, b) => a === b));
};

test("any pattern and any name: the same answer as a matcher that tries everything", () => {
  const segment = fc
    .string({ unit: fc.constantFrom("a", "b", "*"), minLength: 1, maxLength: 5 })
    .map((text) => text.replace(/\*+/g, "*"));
  const part = fc.oneof({ weight: 2, arbitrary: segment }, { weight: 1, arbitrary: fc.constant("**") });
  const name = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 4 });
  const list = <T>(of: fc.Arbitrary<T>) => fc.array(of, { minLength: 1, maxLength: 5 });
  let matched = 0;
  fc.assert(
    fc.property(list(part), list(name), (parts, names) => {
      const [pattern, queue] = [parts.join("::"), names.join("::")];
      const expected = naiveMatch(pattern, queue);
      if (expected) matched++;
      expect(matches(pattern, queue), `${pattern} ${queue}`).toBe(expected);
    }),
    { numRuns: 5_000 },
  );
  expect(matched).toBeGreaterThan(500);
});

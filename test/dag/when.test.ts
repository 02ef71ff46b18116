// Rules: their truth tables, also for empty lists and missing needs, and how they nest.

import { expect, test } from "vitest";
import type { Outcome } from "../../src/dag/outcome.js";
import { task } from "../../src/dag/task.js";
import { allSucceeded, always, and, anySucceeded, noneFailed, not, or, type Rule } from "../../src/dag/when.js";
import { decodeError } from "../../src/kernel/codec/recorded-error.js";

const ok: Outcome = { state: "succeeded", value: 1 };
const bad: Outcome = { state: "failed", error: decodeError({ name: "Error", message: "no" }) };
const skipped: Outcome = { state: "skipped" };
const behind: Outcome = { state: "upstream_failed", causes: ["b"] };
const judge = (rule: Rule<never>, outcomes: Record<string, Outcome>) => rule(outcomes as never);

test.each([
  ["allSucceeded", allSucceeded(), [true, true, false, false, false]],
  ["anySucceeded", anySucceeded(), [false, true, true, true, false]],
  ["noneFailed", noneFailed(), [true, true, false, true, true]],
  ["always", always, [true, true, true, true, true]],
] as const)("%s over nothing, a success, success and failure, success and skip, a skip", (_name, rule, expected) => {
  const tables = [{}, { a: ok }, { a: ok, b: bad }, { a: ok, b: skipped }, { a: skipped }];
  expect(tables.map((outcomes) => judge(rule as Rule, outcomes as Record<string, Outcome>))).toEqual(expected);
});

test("a need that did not run because of a failure is neither a success nor free of failure", () => {
  const rules = [allSucceeded(), anySucceeded(), noneFailed(), always];
  expect(rules.map((rule) => judge(rule, { a: behind }))).toEqual([false, false, false, true]);
  expect(judge(noneFailed(), { a: ok, b: skipped, c: behind })).toBe(false);
});

test("a rule of your own sees the DAG's input, also through combinators", () => {
  const large: Rule = (_outcomes, input) => (input as { size: number }).size > 10;
  const rule = and(noneFailed(), or(large, not(always)));
  expect([5, 50].map((size) => rule({}, { size }))).toEqual([false, true]);
});

test("for an empty list all and none hold, any does not; and() holds, or() does not", () => {
  const outcomes = { a: bad };
  expect([allSucceeded([]), anySucceeded([]), noneFailed([])].map((rule) => judge(rule, outcomes))).toEqual([
    true,
    false,
    true,
  ]);
  expect([and(), or()].map((rule) => judge(rule, outcomes))).toEqual([true, false]);
});

test("a missing need counts as skipped", () => {
  const asks = (rule: Rule<"x">) => judge(rule as unknown as Rule, { a: ok });
  expect([allSucceeded(["x"]), anySucceeded(["x"]), noneFailed(["x"])].map(asks)).toEqual([false, false, true]);
});

test("rules nest", () => {
  const outcomes = { a: ok, b: bad, c: skipped };
  const rule = or(and(allSucceeded(["a"]), not(noneFailed(["b"]))), anySucceeded(["c"]));
  expect(rule(outcomes)).toBe(true);
  expect(not(rule)(outcomes)).toBe(false);
  expect(and(rule, (o) => o.a.state === "failed")(outcomes)).toBe(false);
});

test("a rule over a task that is not a need is rejected where the task is defined", () => {
  const a = task(async () => 1);
  expect(() => task({ needs: { a }, when: and(always, allSucceeded(["b"])) } as never, async () => 1)).toThrow(
    /"b", which is not among its needs/,
  );
});

// The shape of a DAG: its order, levels and picture; and every way to write an invalid one.

import { expect, test } from "vitest";
import { dag } from "../../src/dag/dag.js";
import { type AnyTask, each, task } from "../../src/dag/task.js";
import { always } from "../../src/dag/when.js";

const a = task(async () => 1);
const b = task({ needs: { a } }, async () => 2);
const c = task({ needs: { a }, when: always }, async () => 3);
const d = each({ needs: { b, c }, over: () => [1] }, async () => 4);
const e = task(async () => 5);

test("levels, roots, leaves and an order in which everything can run", () => {
  const made = dag("made", { d, c, b, a, e } as { a: typeof a; b: typeof b; c: typeof c; d: typeof d; e: typeof e });
  expect(made.levels).toEqual([["a", "e"], ["c", "b"], ["d"]]);
  expect(made.roots).toEqual(["a", "e"]);
  expect(made.leaves).toEqual(["d", "e"]);
  expect(made.order).toEqual(["a", "e", "c", "b", "d"]);
});

test("a long chain and a wide fan-out are sorted quickly", () => {
  const tasks: Record<string, AnyTask> = { t0: task(async () => 0) };
  for (let i = 1; i < 500; i++) tasks[`t${i}`] = task({ needs: { [`t${i - 1}`]: tasks[`t${i - 1}`]! } }, async () => i);
  const chain = dag("chain", tasks as never);
  expect(chain.order).toEqual(Array.from({ length: 500 }, (_, i) => `t${i}`));
});

test("a picture for Markdown: rules dotted, fan-outs with a double frame", () => {
  expect(dag("drawn", { a, b, c, d }).toMermaid()).toBe(
    [
      "flowchart TD",
      '  t0["a"]',
      '  t1["b"]',
      '  t2["c"]',
      '  t3[["d"]]',
      "  t0 --> t1",
      "  t0 -.-> t2",
      "  t1 --> t3",
      "  t2 --> t3",
    ].join("\n"),
  );
});

const refused = (tasks: unknown, name = "bad", options: unknown = {}) =>
  expect(() => (dag as (...all: unknown[]) => unknown)(name, options, tasks));

test("a DAG that cannot run is rejected where it is defined", () => {
  refused({}).toThrow(/no tasks/);
  refused({ b }).toThrow(/"b" needs "a", which is not in the DAG/);
  refused({ a: task(async () => 1), b }).toThrow(/needs a task other than the DAG's own "a"/);
  refused({ a, again: a }).toThrow(/"a" and "again" are the same task/);
  refused({ a: { kind: "task" } }).toThrow();
  refused({ a: 1 }).toThrow(/"a" is not a task/);
  refused({ "no spaces": a }).toThrow(/must be segments/);
  refused({ a }, "no spaces").toThrow(/must be segments/);
  refused({ ["x".repeat(120)]: a }, "long-name").toThrow(/length/);
  refused(Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`t${i}`, task(async () => i)]))).toThrow(
    /501 tasks/,
  );
  refused({ a }, "bad", { result: ["b"] }).toThrow(/names "b"/);
  refused({ a }, "bad", { onFailure: "explode" }).toThrow(/finish/);
  refused({ a }, "bad", { retries: 3 }).toThrow(/not an option of a DAG/);
});

test("a cycle made by mutation is named", () => {
  const needs: Record<string, AnyTask> = {};
  const first = task({ needs } as never, async () => 1) as AnyTask;
  const second = task({ needs: { first } }, async () => 2);
  needs["second"] = second;
  refused({ first, second }).toThrow(/first → second → first|second → first → second/);
});

test("a task with a typo in its options is rejected, as are invalid rules and lists", () => {
  const made = (options: object) => expect(() => task(options as never, async () => 1));
  made({ retries: 3 }).toThrow(/not an option/);
  made({ retry: 0 }).toThrow(/whole number from 1/);
  made({ retry: { backoff: "cubic" } }).toThrow(/fixed/);
  made({ timeout: "soon" }).toThrow();
  made({ timeout: 0 }).toThrow(/more than 0/);
  made({ needs: null }).toThrow(/object of tasks/);
  made({ needs: [a] }).toThrow(/object of tasks/);
  made({ over: () => [] }).toThrow(/task\.over: is not an option/);
  expect(() => each({ over: () => [1], whenn: always } as never, async () => 1)).toThrow(
    /each\.whenn: is not an option/,
  );
  made({ queue: "no spaces" }).toThrow(/segments/);
  made({ needs: { a }, when: "always" }).toThrow(/function/);
  expect(() => each({ over: [1] } as never, async () => 1)).toThrow(/function/);
  expect(() => each({ over: () => [1], parallel: 0 }, async () => 1)).toThrow(/at least 1/);
  expect(() => task({} as never, 1 as never)).toThrow(/function/);
});

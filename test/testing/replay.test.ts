// `replay`: recorded journals of every kind against the same code and against changed code; nothing is executed.

import { workflow } from "holdfast";
import { actor, expectation } from "holdfast/actor";
import { dag, task } from "holdfast/dag";
import { graph, state } from "holdfast/graph";
import { type Histories, replay, testNode } from "holdfast/testing";
import { describe, expect, test } from "vitest";

let calls = 0;
const did = <T>(value: T): T => {
  calls++;
  return value;
};

const order = (names: readonly string[], result = "done") =>
  workflow("order", async (ctx, n: number) => {
    for (const name of names) await ctx.step(name, () => did(n));
    await ctx.sleep("a day", "1d");
    return `${result} ${n}`;
  });

const recorded = async (parked: boolean): Promise<Histories> => {
  const program = order(["a", "b"]);
  await using node = testNode({ programs: [program] });
  const run = await node.start(program, 1);
  await (parked ? run.untilParked() : run.result());
  return JSON.parse(JSON.stringify(await node.histories()));
};

describe("a workflow", () => {
  test("fits its own journal, and nothing is executed", async () => {
    const histories = [await recorded(true), await recorded(false)];
    calls = 0;
    for (const one of histories) {
      const report = await replay(order(["a", "b"]), one);
      expect(String(report)).toBe("1 histories, 0 do not fit.");
    }
    expect(calls).toBe(0);
  });

  test.each([true, false])("with another step does not fit (parked: %s)", async (parked) => {
    const report = await replay(order(["a", "c"]), await recorded(parked));
    expect(report.misfits).toMatchObject([{ program: "order" }]);
    expect(report.misfits[0]?.message).toContain('recorded, not made: 3 step "b"');
    expect(() => report.assert()).toThrow(/1 do not fit/);
  });

  test("that ends in another way is changed, and fits", async () => {
    const report = await replay(order(["a", "b"], "ended"), await recorded(false));
    expect(report.ok).toBe(true);
    expect(report.changed[0]?.message).toBe('it was completed, and would be completed with "ended 1"');
  });

  test("of another name is skipped", async () => {
    const report = await replay(
      workflow("other", async () => {}),
      await recorded(true),
    );
    expect(report).toMatchObject({ replayed: 0, skipped: [{ program: "order" }] });
  });
});

test("DAGs, graphs and actors fit their own journals", async () => {
  const extract = task(async (_ctx, n: number) => did(n + 1));
  const report = task({ needs: { extract } }, async (_ctx, { extract }) => did(extract * 2));
  const etl = dag("etl", { extract, report });
  const S = state<{ n: number }>({});
  const steps = graph("steps", {
    state: S,
    init: (n: number) => ({ n }),
    start: "add",
    nodes: {
      add: async (_ctx, { n }) => ({ n: did(n + 1) }),
      ask: S.approval({ ask: () => "Go?", apply: () => ({}) }),
    },
    edges: { add: "ask", ask: "end" },
    output: ({ n }) => n,
  });
  const counter = actor("counter", {
    expectations: { count: expectation({}, async (ctx, n: number) => ctx.step("count", () => did(n))) },
  });
  const programs = [etl, steps, counter];
  await using node = testNode({ programs });
  await (await node.start(etl, 1)).result();
  await (await node.start(steps, 1)).untilParked();
  await (await node.start(counter.expectations.count, 1)).result();
  const histories = await node.histories();
  expect(histories.histories.length).toBe(5);
  calls = 0;
  const replayed = await replay(programs, histories);
  expect(String(replayed)).toBe("5 histories, 0 do not fit.");
  expect(calls).toBe(0);
});

test("a file of another format is refused", async () => {
  await expect(replay(order([]), { format: 2, histories: [] })).rejects.toThrow(/histories.format: must be 1/);
});

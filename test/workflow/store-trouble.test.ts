// Errors of the store that user code throws: the work is repeated, whatever its retry policy. Both stores.

import { expect, test } from "vitest";
import { dag } from "../../src/dag/dag.js";
import { task } from "../../src/dag/task.js";
import { SchemaMissing, StoreRefused, StoreUnavailable } from "../../src/store/postgres/connection/errors.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

const TROUBLES = [
  () => new StoreRefused("start", Object.assign(new Error("password"), { code: "28P01" })),
  () => new StoreUnavailable("start", 0, null),
  () => new SchemaMissing("holdfast", "3F000"),
];
/** Throws each of them once. */
const troubled = () => {
  let calls = 0;
  return () => {
    const trouble = TROUBLES[calls++];
    if (trouble) throw trouble();
    return calls;
  };
};

onBothStores((bench) => {
  test("a step with an error of the store is repeated without counting, and it is reported", async () => {
    const work = troubled();
    const attempts: number[] = [];
    const meets = workflow("meets", async (ctx) =>
      ctx.step("s", { retry: 1 }, ({ attempt }) => {
        attempts.push(attempt);
        return work();
      }),
    );
    const node = await bench.open({ programs: [meets] });
    const told: string[] = [];
    node.on("store.trouble", ({ code, during }) => void told.push(`${during} ${code}`));
    const run = await node.start(meets);
    expect(await run.result({ timeout: "10s" })).toBe(4);
    expect(attempts).toEqual([1, 1, 1, 1]);
    expect(told).toEqual(['step "s" 28P01', 'step "s" STORE_UNAVAILABLE', 'step "s" SCHEMA_MISSING']);
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries.map(({ kind }) => kind)).toEqual(["start", "step", "completed"]);
  });

  test("an at-most-once step is not repeated", async () => {
    const once = workflow("once", async (ctx) => ctx.step("s", { atMostOnce: true }, troubled()));
    const node = await bench.open({ programs: [once] });
    const run = await node.start(once);
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ cause: { code: "STORE_REFUSED" } });
  });

  test("a function with an error of the store between its steps is released, and continues", {
    timeout: 30_000,
  }, async () => {
    const work = troubled();
    const between = workflow("between", async (ctx) => {
      await ctx.step("s", () => 1);
      return work();
    });
    const node = await bench.open({ programs: [between] });
    const run = await node.start(between);
    expect(await run.result({ timeout: "25s" })).toBe(4);
  });

  test("a task with an error of the store keeps its attempts", { timeout: 30_000 }, async () => {
    const work = troubled();
    const first = task({ retry: 1 }, async () => work());
    const one = dag("one-troubled", { first });
    const node = await bench.open({ programs: [one] });
    const run = await node.start(one, undefined as never);
    expect(await run.result({ timeout: "25s" })).toEqual({ first: 4 });
  });
});

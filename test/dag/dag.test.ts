// DAGs through the engine, on the memory store and on PostgreSQL: results, needs, rules, retries, fan-out.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { dag } from "../../src/dag/dag.js";
import { each, task } from "../../src/dag/task.js";
import type { TaskContext } from "../../src/dag/task-context.js";
import { allSucceeded, always, anySucceeded, noneFailed } from "../../src/dag/when.js";
import { PermanentError } from "../../src/replay/step-error.js";
import { workflow } from "../../src/workflow/workflow.js";
import { json } from "../store/scene.js";
import { onBothStores } from "../workflow/node-suite.js";

const NO_RETRY = { retry: 1 } as const;
const boom = (text: string): never => {
  throw new PermanentError(text);
};

const extract = task(async (_ctx, day: { day: string }) => [day.day, "x"]);
const clean = task({ needs: { extract } }, async (_ctx, { extract }) => extract.map((row) => row.length));
const train = task({ needs: { clean } }, async (ctx, { clean }) => ({ loss: clean.length, input: ctx.input }));
const report = task({ needs: { clean, train } }, async (_ctx, { clean, train }) => clean.length + train.loss);
const etl = dag("etl", { extract, clean, train, report });

onBothStores(
  (bench) => {
    test("tasks get the results of their needs and the DAG's input, and the result has them by name", async () => {
      const node = await bench.open({ programs: [etl] });
      const run = await node.start(etl, { day: "2026-01-01" });
      expect(await run.result()).toEqual({
        extract: ["2026-01-01", "x"],
        clean: [10, 1],
        train: { loss: 2, input: { day: "2026-01-01" } },
        report: 4,
      });
    });

    test("a client without the code starts it by name, and its result is typed", async () => {
      await bench.open({ programs: [etl] });
      const client = createClient<[typeof etl]>({ store: bench.store });
      const run = await client.start("etl", { day: "a" });
      expect((await run.result()).report).toBe(4);
    });

    test("a workflow starts it as a child", async () => {
      const parent = workflow("dag-parent", async (ctx, day: string) => (await ctx.child(etl, { day })).report);
      const node = await bench.open({ programs: [etl, parent] });
      expect(await (await node.start(parent, "b")).result()).toBe(4);
    });

    test("the result has only the tasks that are listed for it", async () => {
      const small = dag("small", { result: ["train"] }, { extract, clean, train });
      const node = await bench.open({ programs: [small] });
      const result = await (await node.start(small, { day: "c" })).result();
      expect(result).toEqual({ train: { loss: 2, input: { day: "c" } } });
    });

    test("tasks that need a failed task are skipped, the others are finished, and the run fails with every cause", async () => {
      const seen: string[] = [];
      const bad = task(NO_RETRY, async () => boom("no rows"));
      const good = task(async () => "good");
      const behind = task({ needs: { bad } }, async () => seen.push("behind"));
      const beside = task({ needs: { good } }, async () => seen.push("beside"));
      const cleanup = task({ needs: { behind }, when: always }, async (_ctx, { behind }) => seen.push(behind.state));
      const failing = dag("failing", { bad, good, behind, beside, cleanup });
      const node = await bench.open({ programs: [failing] });
      const run = await node.start(failing);
      await expect(run.result()).rejects.toMatchObject({
        code: "RUN_FAILED",
        cause: { code: "DAG_FAILED", details: { failed: [{ task: "bad" }] }, errors: [{ message: "no rows" }] },
      });
      expect(seen.sort()).toEqual(["beside", "upstream_failed"]);
    });

    test("a rule sees outcomes: values, errors and skips", async () => {
      const bad = task(NO_RETRY, async () => boom("broken"));
      const good = task(async () => 7);
      const behind = task({ needs: { bad } }, async () => 1);
      const seen: unknown[] = [];
      const all = task({ needs: { bad, good, behind }, when: always }, async (_ctx, { bad, good, behind }) => {
        seen.push(bad.state === "failed" && bad.error.message, good.state === "succeeded" && good.value, behind.state);
      });
      const none = task({ needs: { bad, good }, when: noneFailed() }, async () => seen.push("none"));
      const picky = task({ needs: { bad, good }, when: allSucceeded(["good"]) }, async () => seen.push("picky"));
      const rules = dag("rules", { bad, good, behind, all, none, picky });
      const node = await bench.open({ programs: [rules] });
      await expect((await node.start(rules)).result()).rejects.toMatchObject({ code: "RUN_FAILED" });
      expect(seen.map(String).sort()).toEqual(["7", "broken", "picky", "upstream_failed"]);
    });

    test("a failed attempt is repeated with the same needs, and its recorded steps are not", async () => {
      let steps = 0;
      const seen: unknown[] = [];
      const first = task(async () => ({ n: 1 }));
      const second = task({ needs: { first }, retry: { attempts: 3, delay: 1 } }, async (ctx, { first }) => {
        seen.push([ctx.attempt, first]);
        const step = await ctx.step("once", () => ++steps);
        if (ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt}`);
        return step;
      });
      const retried = dag("retried", { first, second });
      const node = await bench.open({ programs: [retried] });
      expect((await (await node.start(retried)).result()).second).toBe(1);
      expect(seen).toEqual([1, 2, 3].map((attempt) => [attempt, { n: 1 }]));
    });

    test("an attempt that fails before it reaches its recorded steps is a failure like any other", async () => {
      const first = task({ retry: { attempts: 3, delay: 1 } }, async (ctx) => {
        if (ctx.attempt === 2) throw new Error("the network, this time");
        const step = await ctx.step("done", () => "kept");
        if (ctx.attempt === 1) throw new Error("after the step");
        return step;
      });
      const early = dag("early", { first });
      const node = await bench.open({ programs: [early] });
      expect(await (await node.start(early)).result()).toEqual({ first: "kept" });
    });

    test("a step that failed for good is tried again with the task", async () => {
      let tries = 0;
      const only = task({ retry: { attempts: 2, delay: 1 } }, async (ctx) =>
        ctx.step("once more", { retry: 1 }, () => {
          if (++tries === 1) throw new Error("first");
          return tries;
        }),
      );
      const again = dag("step-again", { only });
      const node = await bench.open({ programs: [again] });
      expect(await (await node.start(again)).result()).toEqual({ only: 2 });
    });

    test("the task decides which errors are worth another attempt", async () => {
      let tries = 0;
      const only = task(
        { retry: { attempts: 5, delay: 1 }, retryIf: (error) => (error as Error).message === "again" },
        async () => {
          throw new Error(++tries === 1 ? "again" : "enough");
        },
      );
      const choosy = dag("choosy", { only });
      const node = await bench.open({ programs: [choosy] });
      await expect((await node.start(choosy)).result()).rejects.toMatchObject({
        cause: { errors: [{ message: "enough" }] },
      });
      expect(tries).toBe(2);
    });

    test("a task that takes longer than its timeout fails with TASK_TIMEOUT, and its signal aborts", async () => {
      let aborted = false;
      const slow = task({ timeout: 50, retry: 1, overlap: true }, async (ctx) => {
        ctx.signal.addEventListener("abort", () => {
          aborted = true;
        });
        await new Promise((resolve) => setTimeout(resolve, 5_000).unref());
      });
      const late = dag("late", { slow });
      const node = await bench.open({ programs: [late] });
      const run = await node.start(late);
      await expect(run.result()).rejects.toMatchObject({ cause: { errors: [{ code: "TASK_TIMEOUT" }] } });
      expect(aborted).toBe(true);
    });

    test("a fan-out runs once per item, no more at once than allowed, and returns results in the order of the list", async () => {
      let atWork = 0;
      let most = 0;
      const list = task(async (_ctx, n: number) => Array.from({ length: n }, (_, i) => i));
      const squares = each({ needs: { list }, over: ({ list }) => list, parallel: 3 }, async (_ctx, item: number) => {
        most = Math.max(most, ++atWork);
        await new Promise((resolve) => setTimeout(resolve, 5));
        atWork--;
        return item * item;
      });
      const sum = task({ needs: { squares } }, async (_ctx, { squares }) => squares.reduce((a, b) => a + b, 0));
      const fan = dag("fan", { list, squares, sum });
      const node = await bench.open({ programs: [fan], concurrency: 20 });
      const run = await node.start(fan, 12);
      expect(await run.result()).toMatchObject({ squares: [0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121], sum: 506 });
      expect(most).toBeLessThanOrEqual(3);
      expect((await (await node.start(fan, 0)).result()).squares).toEqual([]);
    });

    test("a rule over an empty list of needs is judged like any other, and its function gets that list", async () => {
      const none = task({ needs: {}, when: anySucceeded() }, async () => "never");
      const all = task({ needs: {}, when: allSucceeded() }, async (ctx, needs) => [needs, ctx.input]);
      const plain = task({ needs: {} }, async (ctx: TaskContext<number>, needs) => [needs, ctx.input]);
      const input = task({ retry: 1 }, async (_ctx, n: number) => n);
      const empty = dag("empty-needs", { none, all, plain, input });
      const node = await bench.open({ programs: [empty] });
      expect(await (await node.start(empty, 7)).result()).toEqual({ all: [{}, 7], plain: [{}, 7], input: 7 });
    });

    test("a task whose DAG's run was deleted fails, and does not run without its input", async () => {
      let ran = false;
      const only = task(async () => {
        ran = true;
      });
      const gone = dag("gone", { only });
      const node = await bench.open({ programs: [gone] });
      const [id, of] = [randomUUID(), randomUUID()];
      const group = { env: "default", stack: null, queue: "gone::only", program: "gone::only", version: null };
      const rest = { priority: 0, delayMs: 0, crashLimit: 5, input: json({ dag: of, needs: {} }) };
      await bench.store.runs.insert([{ id, group, ...rest }]);
      await expect(node.run(id).result({ timeout: "10s" })).rejects.toThrow(
        `The run ${of} of its DAG no longer exists`,
      );
      expect(ran).toBe(false);
    });

    test("a fan-out with an item that cannot be started fails after the started items have ended", async () => {
      const list = Array.from({ length: 300 }, (_, i): unknown => (i === 299 ? () => "no value" : i));
      const states: string[] = [];
      const items = each({ over: () => list, parallel: 2, retry: 1 }, async (ctx) => {
        await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      });
      const broken = dag("broken-list", { items });
      const node = await bench.open({ programs: [broken] });
      const run = await node.start(broken);
      await expect(run.result()).rejects.toMatchObject({ cause: { errors: [{ code: "INVALID_INPUT" }] } });
      const tasksOf = async (id: string) =>
        (await bench.store.journal.read(id))!.entries.flatMap(({ kind, key }) => (kind === "task" ? key! : []));
      const [fan] = await tasksOf(run.id);
      for (const id of await tasksOf(fan!)) states.push((await bench.store.runs.get(id))!.state);
      expect(states).toEqual(Array(250).fill("cancelled"));
    });
  },
  { perTest: true },
);

// A failure in a DAG and what comes after it, on both stores: which tasks see it, which a retry opens, one task, the list of tasks.

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { dag } from "../../src/dag/dag.js";
import { each, task } from "../../src/dag/task.js";
import type { TaskContext } from "../../src/dag/task-context.js";
import { always, anySucceeded, noneFailed } from "../../src/dag/when.js";
import { PermanentError } from "../../src/replay/step-error.js";
import { onBothStores } from "../workflow/node-suite.js";

const failed = { code: "RUN_FAILED" } as const;

/** A task that fails until it is repaired, and counts its runs. */
function brittle() {
  const part = { repaired: false, runs: 0 };
  const work = async () => {
    part.runs++;
    if (!part.repaired) throw new PermanentError("work failed");
    return "done";
  };
  return { part, work };
}

onBothStores(
  (bench) => {
    test("behind a failure a task is upstream_failed, noneFailed() is false, and so on down the line", async () => {
      const ran: string[] = [];
      const extract = task(async () => {
        throw new PermanentError("no rows");
      });
      const count = task({ needs: { extract } }, async () => 1);
      const report = task({ needs: { count }, when: noneFailed() }, async () => ran.push("report"));
      const publish = task({ needs: { report }, when: noneFailed() }, async () => ran.push("publish"));
      const seen = task({ needs: { count, publish }, when: always }, async (_ctx, { count, publish }) => {
        ran.push(JSON.stringify([count, publish]));
      });
      const etl = dag("behind-failure", { extract, count, report, publish, seen });
      const node = await bench.open({ programs: [etl] });
      const run = await node.start(etl);
      await expect(run.result()).rejects.toMatchObject(failed);
      const outcome = { state: "upstream_failed", causes: ["extract"] };
      expect(ran).toEqual([JSON.stringify([outcome, outcome])]);
      const tasks = await run.tasks();
      expect(tasks.map(({ name, state, causes }) => [name, state, ...causes])).toEqual(
        [
          ["extract", "failed"],
          ["count", "upstream_failed", "extract"],
          ["report", "upstream_failed", "extract"],
          ["seen", "completed"],
          ["publish", "upstream_failed", "extract"],
        ].sort((a, b) => tasks.findIndex(({ name }) => name === a[0]) - tasks.findIndex(({ name }) => name === b[0])),
      );
    });

    test("a retry runs everything again that saw the failure: always joins, partial joins, teardowns, and what needs them", async () => {
      const { part, work } = brittle();
      const ran: string[] = [];
      const good = task(async () => "good");
      const bad = task({ retry: 1 }, work);
      const summary = task({ needs: { bad }, when: always }, async (ctx, { bad }) => {
        await ctx.step("note", () => ran.push("note"));
        return bad.state === "succeeded" ? bad.value : `work ${bad.state}`;
      });
      const partial = task({ needs: { good, bad }, when: anySucceeded() }, async (_ctx, { good, bad }) => [
        good.state,
        bad.state,
      ]);
      const mail = task({ needs: { summary } }, async (_ctx, { summary }) => `mail: ${summary}`);
      const teardown = task({ needs: { mail, partial }, when: always }, async () => ran.push("teardown"));
      const apart = task({ needs: { good } }, async () => ran.push("apart"));
      const all = dag("saw-it", { good, bad, summary, partial, mail, teardown, apart });
      const node = await bench.open({ programs: [all] });
      const run = await node.start(all);
      await expect(run.result()).rejects.toMatchObject(failed);
      part.repaired = true;
      expect(await run.retry({ by: "ann" })).toEqual({ outcome: "retried" });
      expect(await run.result()).toMatchObject({
        bad: "done",
        summary: "done",
        partial: ["succeeded", "succeeded"],
        mail: "mail: done",
      });
      expect(ran.sort()).toEqual(["apart", "note", "note", "teardown", "teardown"]);
      expect(part.runs).toBe(2);
      expect((await bench.store.runs.reconcile()).replayed).toBe(0);
    });

    test("a fan-out behind the failure starts over with new items", async () => {
      const { part, work } = brittle();
      const list = task({ retry: 1 }, work);
      const items = each(
        {
          needs: { list },
          when: always,
          over: ({ list }) => (list.state === "succeeded" ? [1, 2, 3] : [0]),
          parallel: 2,
        },
        async (_ctx, item: number) => item * 2,
      );
      const fan = dag("fan-again", { list, items });
      const node = await bench.open({ programs: [fan] });
      const run = await node.start(fan);
      await expect(run.result()).rejects.toMatchObject(failed);
      part.repaired = true;
      await run.retry();
      expect((await run.result()).items).toEqual([2, 4, 6]);
    });

    test("one task is retried, alone or with all after it, also in a run that was completed", async () => {
      const runs = { first: 0, second: 0, third: 0, apart: 0 };
      const first = task(async () => ++runs.first);
      const second = task({ needs: { first } }, async (_ctx, { first }) => {
        runs.second++;
        return first * 10;
      });
      const third = task({ needs: { second } }, async (_ctx, { second }) => {
        runs.third++;
        return second + 1;
      });
      const apart = task(async () => ++runs.apart);
      const line = dag("line", { first, second, third, apart });
      const node = await bench.open({ programs: [line] });
      const run = await node.start(line);
      expect(await run.result()).toEqual({ first: 1, second: 10, third: 11, apart: 1 });
      expect(await run.retry({ task: "first" })).toEqual({ outcome: "retried" });
      expect(await run.result()).toEqual({ first: 2, second: 10, third: 11, apart: 1 });
      expect(await run.retry({ task: "first", after: true, by: "ann" })).toEqual({ outcome: "retried" });
      expect(await run.result()).toEqual({ first: 3, second: 30, third: 31, apart: 1 });
      expect(runs).toEqual({ first: 3, second: 2, third: 2, apart: 1 });
      await expect(run.retry({ task: "forth" })).rejects.toMatchObject({ code: "TASK_MISSING" });
      expect(await run.retry()).toMatchObject({ outcome: "not retryable", state: "completed" });
    });

    test("of two failed tasks one is retried; the other stays failed, and is not a reason to cancel", async () => {
      const { part, work } = brittle();
      const one = task({ retry: 1 }, work);
      const after = task({ needs: { one } }, async () => "after");
      const other = task({ retry: 1 }, async () => {
        throw new PermanentError("other");
      });
      const two = dag("two", { onFailure: "cancel" }, { one, other, after });
      const node = await bench.open({ programs: [two] });
      const run = await node.start(two);
      await expect(run.result()).rejects.toMatchObject(failed);
      part.repaired = true;
      await run.retry({ task: "one" });
      await expect(run.result()).rejects.toMatchObject({ cause: { details: { failed: [{ task: "other" }] } } });
      const states = Object.fromEntries((await run.tasks()).map(({ name, state }) => [name, state]));
      expect(states).toMatchObject({ one: "completed", other: "failed" });
    });

    test("the tasks of a run are listed with attempts, times, owners and errors, through a client, too", async () => {
      const flaky = task({ retry: { attempts: 3, delay: 1 } }, async (ctx) => {
        if (ctx.attempt < 3) throw new Error("not yet");
        return 1;
      });
      const bad = task({ retry: { attempts: 2, delay: 1 } }, async () => {
        throw new TypeError("broken");
      });
      const listed = dag("listed", { flaky, bad });
      const node = await bench.open({ programs: [listed], identity: { id: "worker-1" } });
      const { id } = await node.start(listed);
      await expect(node.run(id).result()).rejects.toMatchObject(failed);
      const tasks = await createClient({ store: bench.store }).run(id).tasks();
      expect(tasks).toMatchObject([
        { name: "flaky", state: "completed", attempts: 3, owner: { name: "worker-1" }, error: null },
        { name: "bad", state: "failed", attempts: 2, owner: { name: "worker-1" }, error: { message: "broken" } },
      ]);
      for (const { readyAt, endedAt } of tasks) expect(endedAt! - readyAt).toBeGreaterThanOrEqual(0);
      expect(await node.run(id).tasks({ limit: 1 })).toHaveLength(1);
    });

    test("every failure is in the error, also when there are more than an error usually keeps", async () => {
      const names = Array.from({ length: 45 }, (_, i) => `t${i}`);
      const bad = Object.fromEntries(
        names.map((name) => [
          name,
          task({ retry: 1 }, async () => {
            throw new PermanentError(`${name} is broken`);
          }),
        ]),
      );
      const many = dag("many-failures", bad);
      const node = await bench.open({ programs: [many], concurrency: 20 });
      const thrown = await (await node.start(many)).result().catch((error) => error);
      expect(thrown.cause.details.failed.map(({ task }: { task: string }) => task)).toEqual(names);
      expect(thrown.cause.errors.map(({ message }: Error) => message)).toEqual(
        names.map((name) => `${name} is broken`),
      );
    });

    test("a rule sees the DAG's input, of a task without needs, with needs, and of a fan-out", async () => {
      interface Size {
        size: number;
      }
      const first = task({ when: (_outcomes, { size }: Size) => size > 1 }, async (_ctx, { size }: Size) => size);
      const plain = task(async (_ctx, { size }: Size) => size);
      const second = task(
        { needs: { plain }, when: ({ plain }, { size }: Size) => plain.state === "succeeded" && size > 1 },
        async (ctx: TaskContext<Size>) => ctx.input.size,
      );
      const items = each(
        { needs: { plain }, when: (_outcomes, { size }: Size) => size > 1, over: (_needs, { size }: Size) => [size] },
        async (_ctx, item: number) => item,
      );
      const chosen = dag("chosen", { first, plain, second, items });
      const node = await bench.open({ programs: [chosen] });
      expect(await (await node.start(chosen, { size: 1 })).result()).toEqual({ plain: 1 });
      expect(await (await node.start(chosen, { size: 2 })).result()).toEqual({
        first: 2,
        plain: 2,
        second: 2,
        items: [2],
      });
    });

    test("results that are too large together are kept where they are, and read by tasks, callers and parents", async () => {
      const LARGE = "x".repeat(400_000);
      const items = each({ over: () => [1, 2, 3], retry: 1 }, async (_ctx, item: number) => `${item}${LARGE}`);
      const lengths = task({ needs: { items } }, async (_ctx, { items }) => items.map((text) => text.length));
      const large = dag("large", { items, lengths });
      const node = await bench.open({ programs: [large] });
      const run = await node.start(large);
      const result = await run.result();
      expect(result.lengths).toEqual([400_001, 400_001, 400_001]);
      expect(result.items?.map((text) => text.slice(0, 2))).toEqual(["1x", "2x", "3x"]);
    });
  },
  { perTest: true },
);

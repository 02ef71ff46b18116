// Operations on a running DAG, on both stores: pause, resume, cancel, retry, timeouts, failure policy, priority, versions.

import { expect, test, vi } from "vitest";
import type { RunHandle } from "../../src/client/run-handle.js";
import { dag } from "../../src/dag/dag.js";
import { each, task } from "../../src/dag/task.js";
import type { RunState } from "../../src/kernel/run/run-state.js";
import type { AnyDefinition } from "../../src/program/definition.js";
import { PermanentError } from "../../src/replay/step-error.js";
import type { Store } from "../../src/store/contract/store.js";
import { deferred } from "../harness/deferred.js";
import { onBothStores } from "../workflow/node-suite.js";

/** The states of a run's tasks, by name. */
async function tasksOf(store: Store, run: RunHandle<unknown>): Promise<Record<string, RunState>> {
  const { entries } = (await store.journal.read(run.id))!;
  const started = entries.filter(({ kind }) => kind === "task");
  const records = await Promise.all(started.map(({ key }) => store.runs.get(key!)));
  return Object.fromEntries(started.map(({ name }, i) => [name, records[i]!.state]));
}

const stateOf = async (store: Store, run: RunHandle<unknown>) => (await store.runs.get(run.id))!.state;

/** A task that works until it is aborted or released. */
function gated() {
  const gate = { begun: deferred<void>(), open: deferred<void>(), aborts: 0, runs: 0 };
  const work = async (signal: AbortSignal) => {
    gate.runs++;
    gate.begun.resolve();
    await new Promise<void>((resolve) => {
      void gate.open.promise.then(() => resolve());
      signal.addEventListener("abort", () => {
        gate.aborts++;
        resolve();
      });
    });
    signal.throwIfAborted();
  };
  return { gate, work };
}

onBothStores(
  (bench) => {
    test("a pause aborts running tasks and holds ready and blocked ones; a resume continues where they were", async () => {
      const { gate, work } = gated();
      const first = task(async (ctx) => work(ctx.signal));
      const second = task({ needs: { first } }, async () => "second");
      const beside = task(async () => "beside");
      const third = task({ needs: { beside } }, async () => "third");
      const paused = dag("paused", { first, second, beside, third });
      const node = await bench.open({ programs: [paused] });
      const run = await node.start(paused);
      await gate.begun.promise;
      await vi.waitFor(async () => expect((await tasksOf(bench.store, run))["third"]).toBe("completed"), 20_000);
      const answer = await run.pause({ by: "ann" });
      expect([{ outcome: "requested", acknowledged: true }, { outcome: "paused" }]).toContainEqual(answer);
      const states = { first: "paused", beside: "completed", second: "paused", third: "completed" };
      await vi.waitFor(async () => expect(await tasksOf(bench.store, run)).toEqual(states), 20_000);
      expect(gate.aborts).toBe(1);
      expect(await run.pause({ by: "ann" })).toEqual({ outcome: "paused" });
      expect(await stateOf(bench.store, run)).toBe("paused");
      gate.open.resolve();
      expect(await run.resume({ by: "bob" })).toEqual({ outcome: "resumed" });
      expect(await run.result()).toMatchObject({ second: "second", third: "third" });
      expect(gate.runs).toBe(2);
      expect(await run.resume({ by: "bob" })).toMatchObject({ outcome: "not paused" });
    });

    test("a cancel ends ready and blocked tasks at once, aborts running ones, and ends the run when all have ended", async () => {
      const { gate, work } = gated();
      const first = task(async (ctx) => work(ctx.signal));
      const second = task({ needs: { first } }, async () => "second");
      const cancelled = dag("cancelled", { first, second });
      const node = await bench.open({ programs: [cancelled] });
      const run = await node.start(cancelled);
      await gate.begun.promise;
      const answer = await run.cancel({ by: "ann" });
      expect([{ outcome: "requested", acknowledged: true }, { outcome: "cancelled" }]).toContainEqual(answer);
      expect((await tasksOf(bench.store, run))["second"]).toBe("cancelled");
      await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      expect(await tasksOf(bench.store, run)).toEqual({ first: "cancelled", second: "cancelled" });
      expect(gate.aborts).toBe(1);
    });

    test("a DAG is paused, resumed and cancelled even when no node has its code", async () => {
      const first = task({ queue: "nobody" }, async () => 1);
      const second = task({ needs: { first } }, async () => 2);
      const alone = dag("alone", { first, second });
      // This one knows the DAG and none of its tasks.
      const starter: AnyDefinition = { ...alone, serve: (environment) => alone.serve(environment).slice(0, 1) };
      const node = await bench.open({ programs: [starter] });
      const run = await node.start(alone);
      await vi.waitFor(async () => expect(await stateOf(bench.store, run)).toBe("parked"), 20_000);
      await node.stop();
      expect(await run.pause()).toEqual({ outcome: "paused" });
      expect(await tasksOf(bench.store, run)).toEqual({ first: "paused", second: "paused" });
      expect(await run.resume()).toEqual({ outcome: "resumed" });
      expect(await tasksOf(bench.store, run)).toEqual({ first: "waiting", second: "blocked" });
      expect(await run.cancel()).toEqual({ outcome: "cancelled" });
      expect(await tasksOf(bench.store, run)).toEqual({ first: "cancelled", second: "cancelled" });
      expect(await stateOf(bench.store, run)).toBe("cancelled");
    });

    test("a retry repeats only failed tasks and the tasks skipped because of them", async () => {
      const ran: string[] = [];
      let mended = false;
      const good = task(async () => void ran.push("good"));
      const bad = task({ retry: 1 }, async () => {
        ran.push("bad");
        if (!mended) throw new Error("not yet");
      });
      const behind = task({ needs: { good, bad } }, async () => void ran.push("behind"));
      const last = task({ needs: { behind } }, async () => "done");
      let judged = 0;
      const chosen = task({ needs: { good }, when: () => ++judged < 0 }, async () => void ran.push("never"));
      const again = dag("again", { good, bad, behind, last, chosen });
      const node = await bench.open({ programs: [again] });
      const run = await node.start(again);
      await expect(run.result()).rejects.toMatchObject({ code: "RUN_FAILED" });
      expect(await tasksOf(bench.store, run)).toMatchObject({ behind: "skipped", last: "skipped", chosen: "skipped" });
      mended = true;
      expect(await run.retry({ by: "ann" })).toEqual({ outcome: "retried" });
      expect((await run.result()).last).toBe("done");
      expect(ran).toEqual(expect.arrayContaining(["good", "bad", "bad", "behind"]));
      expect(ran.length).toBe(4);
      expect((await tasksOf(bench.store, run))["chosen"]).toBe("skipped");
      expect(judged).toBe(1);
    });

    test("of a fan-out, a retry runs only the items that failed", async () => {
      const ran: number[] = [];
      let mended = false;
      const items = each({ over: () => [0, 1, 2, 3], retry: 1 }, async (_ctx, item: number) => {
        ran.push(item);
        if (item === 2 && !mended) throw new Error("two");
        return item;
      });
      const some = dag("some", { items });
      const node = await bench.open({ programs: [some] });
      const run = await node.start(some);
      await expect(run.result()).rejects.toMatchObject({
        cause: { errors: [{ code: "EACH_FAILED", details: { failed: [2] } }] },
      });
      mended = true;
      await run.retry();
      expect((await run.result()).items).toEqual([0, 1, 2, 3]);
      expect(ran.sort()).toEqual([0, 1, 2, 2, 3]);
    });

    test("a fan-out is paused and cancelled with its items", async () => {
      const { gate, work } = gated();
      const items = each({ over: () => [0, 1, 2], parallel: 1 }, async (ctx) => work(ctx.signal));
      const fan = dag("fan-stop", { items });
      const node = await bench.open({ programs: [fan] });
      const run = await node.start(fan);
      await gate.begun.promise;
      const itemStates = async () => {
        const { entries } = (await bench.store.journal.read(run.id))!;
        const collector = entries.find(({ kind }) => kind === "task")!.key!;
        const started = (await bench.store.journal.read(collector))!.entries.filter(({ kind }) => kind === "task");
        return Promise.all(started.map(async ({ key }) => (await bench.store.runs.get(key!))!.state));
      };
      await run.pause();
      await vi.waitFor(async () => expect(await itemStates()).toEqual(["paused", "paused", "paused"]), 20_000);
      expect(await run.cancel()).toEqual({ outcome: "cancelled" });
      expect(await itemStates()).toEqual(["cancelled", "cancelled", "cancelled"]);
    });

    test("with onFailure cancel, a failure cancels open tasks at once, and the run fails when all have ended", async () => {
      const { gate, work } = gated();
      const slow = task(async (ctx) => work(ctx.signal));
      const never = task({ needs: { slow } }, async () => 1);
      const bad = task({ retry: 1 }, async () => {
        await gate.begun.promise;
        throw new PermanentError("first failure");
      });
      const fast = dag("fast", { onFailure: "cancel" }, { slow, bad, never });
      const node = await bench.open({ programs: [fast] });
      const run = await node.start(fast);
      await expect(run.result()).rejects.toMatchObject({
        cause: { details: { failed: [{ task: "bad" }] }, errors: [{ message: "first failure" }] },
      });
      expect(await tasksOf(bench.store, run)).toEqual({ slow: "cancelled", bad: "failed", never: "cancelled" });
      expect(gate.aborts).toBe(1);
    });

    test("a DAG that takes longer than its timeout cancels its open tasks and fails with TIMEOUT", async () => {
      const { gate, work } = gated();
      const slow = task(async (ctx) => work(ctx.signal));
      const late = dag("late-dag", { timeout: 300 }, { slow });
      const node = await bench.open({ programs: [late] });
      const run = await node.start(late);
      await expect(run.result()).rejects.toMatchObject({ cause: { code: "TIMEOUT" } });
      expect(gate.aborts).toBe(1);
      expect(await tasksOf(bench.store, run)).toEqual({ slow: "cancelled" });
    });

    test("tasks inherit the priority of their run and the version of their DAG", async () => {
      const only = task(async () => 1);
      const pinned = dag("pinned", { version: "2" }, { only });
      const node = await bench.open({ programs: [pinned] });
      const run = await node.start(pinned, undefined, { priority: 7 });
      await run.result();
      const { entries } = (await bench.store.journal.read(run.id))!;
      const record = await bench.store.runs.get(entries.find(({ kind }) => kind === "task")!.key!);
      expect(record).toMatchObject({
        priority: 7,
        group: { queue: "pinned::only", program: "pinned::only", version: "2" },
      });
    });

    test("a limit on a DAG's concurrency is held until its tasks have ended", async () => {
      let atWork = 0;
      let most = 0;
      const first = task(async () => {
        most = Math.max(most, ++atWork);
        await new Promise((resolve) => setTimeout(resolve, 20));
      });
      const second = task({ needs: { first } }, async () => void atWork--);
      const narrow = dag("narrow", { concurrency: 1 }, { first, second });
      const node = await bench.open({ programs: [narrow] });
      const runs = await Promise.all([1, 2, 3].map(() => node.start(narrow)));
      await Promise.all(runs.map((run) => run.result()));
      expect(most).toBe(1);
    });

    test("a DAG retried from the start has new tasks", async () => {
      let runs = 0;
      const only = task({ retry: 1 }, async () => {
        if (++runs === 1) throw new Error("once");
        return runs;
      });
      const restarted = dag("restarted", { only });
      const node = await bench.open({ programs: [restarted] });
      const run = await node.start(restarted);
      await expect(run.result()).rejects.toMatchObject({ code: "RUN_FAILED" });
      await node.dead.retry([run.id], { from: "start" });
      expect(await run.result()).toEqual({ only: 2 });
    });

    test("reconcile finds nothing to repair after all this", async () => {
      expect((await bench.store.runs.reconcile()).replayed).toBe(0);
    });
  },
  { perTest: true },
);

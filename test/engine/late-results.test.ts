// Work of every kind that returns only after it was aborted, on both stores: its result may be partial, so it is dropped and
// the work is executed again, unless it has finishOnAbort.

import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import { strategy } from "../../src/actor/strategy.js";
import { dag } from "../../src/dag/dag.js";
import { each, task } from "../../src/dag/task.js";
import { graph, state } from "../../src/graph/index.js";
import { machine } from "../../src/machine/index.js";
import type { Node } from "../../src/node/create-node.js";
import type { AnyDefinition } from "../../src/program/definition.js";
import { workflow } from "../../src/workflow/workflow.js";
import { type Deferred, deferred } from "../harness/deferred.js";
import { onBothStores } from "../workflow/node-suite.js";

/** Returns a partial result as soon as it is aborted; the second time the whole one, at once. */
class Work {
  calls = 0;
  readonly begun: Deferred<AbortSignal> = deferred();

  run = async (signal: AbortSignal): Promise<string> => {
    if (++this.calls > 1) return "all";
    this.begun.resolve(signal);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    return "a part";
  };
}

const S = state<{ text: string; list?: string[] }>();

interface Kind {
  readonly program: AnyDefinition;
  readonly input?: unknown;
  /** The result of its run when its work returned `text`. */
  readonly answer: (text: string) => unknown;
}

const kinds: Record<string, (work: Work, finishOnAbort: boolean) => Kind> = {
  "a step": ({ run }, finishOnAbort) => ({
    program: workflow("late-step", (ctx) => ctx.step("work", { finishOnAbort }, ({ signal }) => run(signal))),
    answer: (text) => text,
  }),
  "a transaction": ({ run }, finishOnAbort) => ({
    program: workflow("late-transaction", (ctx) =>
      ctx.transaction("work", { finishOnAbort }, (_tx, { signal }) => run(signal)),
    ),
    answer: (text) => text,
  }),
  "a node of a graph": ({ run }, finishOnAbort) => ({
    program: graph("late-node", {
      state: S,
      start: "work",
      nodes: { work: S.node({ finishOnAbort }, async ({ signal }) => ({ text: await run(signal) })) },
      edges: { work: "end" },
    }),
    input: { text: "" },
    answer: (text) => ({ text }),
  }),
  "an item of a map": ({ run }, finishOnAbort) => ({
    program: graph("late-map", {
      state: S,
      start: "work",
      nodes: {
        work: S.map(
          () => [1],
          ({ signal }) => run(signal),
          { into: "list", finishOnAbort },
        ),
      },
      edges: { work: "end" },
    }),
    input: { text: "" },
    answer: (text) => ({ text: "", list: [text] }),
  }),
  "a task": ({ run }, finishOnAbort) => ({
    program: dag("late-task", { work: task({ finishOnAbort }, (ctx) => run(ctx.signal)) }),
    answer: (text) => ({ work: text }),
  }),
  "an item of a fan-out": ({ run }, finishOnAbort) => ({
    program: dag("late-item", { work: each({ over: () => [1], finishOnAbort }, (ctx) => run(ctx.signal)) }),
    answer: (text) => ({ work: [text] }),
  }),
  "a call of a strategy": ({ run }, finishOnAbort) => {
    const asks = strategy({
      steps: { ask: ({ signal }) => run(signal) },
      init: (): string | null => null,
      next: (said) => (said === null ? { do: "call", name: "ask", finishOnAbort } : { do: "done", result: said }),
      handle: (said, step) => (step.did === "call" ? step.result : said),
    });
    const { expectations } = actor("late-actor", { expectations: { asks: expectation({}, asks) } });
    return { program: expectations.asks, answer: (text) => text };
  },
};

async function openKind(open: (programs: readonly AnyDefinition[]) => Promise<Node>, name: string, finish: boolean) {
  const work = new Work();
  const kind = kinds[name]!(work, finish);
  const node = await open([kind.program]);
  const run = await node.start(kind.program, kind.input);
  const signal = await work.begun.promise;
  return { work, kind, node, run, signal };
}

onBothStores(
  (bench) => {
    const open = (programs: readonly AnyDefinition[]) => bench.open({ programs });

    describe.each(Object.keys(kinds))("%s that returns after the abort", (name) => {
      test("of a stopping node is done again elsewhere", async () => {
        const { work, kind, node, run } = await openKind(open, name, false);
        await node.stop({ grace: 50 });
        await open([kind.program]);
        expect(await run.result({ timeout: "10s" })).toEqual(kind.answer("all"));
        expect(work.calls).toBe(2);
      });

      test("of a pause is done again when its run is resumed", async () => {
        const { work, kind, run, signal } = await openKind(open, name, false);
        await run.pause();
        await expect.poll(async () => (await run.status()).state, { timeout: 10_000 }).toBe("paused");
        await expect.poll(() => signal.aborted, { timeout: 10_000 }).toBe(true);
        await run.resume();
        expect(await run.result({ timeout: "10s" })).toEqual(kind.answer("all"));
        expect(work.calls).toBe(2);
      });

      test("of a stopping node has its result when it finishes on abort", async () => {
        const { work, kind, node, run } = await openKind(open, name, true);
        await node.stop({ grace: 50 });
        await open([kind.program]);
        expect(await run.result({ timeout: "10s" })).toEqual(kind.answer("a part"));
        expect(work.calls).toBe(1);
      });
    });

    test.each([
      [false, "all", 2],
      [true, "a part", 1],
    ])(
      "an effect of a machine that returns after the abort, finishOnAbort %s",
      async (finishOnAbort, answer, calls) => {
        const work = new Work();
        const definition = setup({
          types: { context: {} as { text: string }, events: {} as { type: "DONE"; text: string } },
          actions: { work: () => {} },
        }).createMachine({
          context: { text: "" },
          initial: "working",
          states: {
            working: { entry: "work", on: { DONE: { target: "done" } } },
            done: { type: "final" },
          },
        });
        const run = async ({ signal }: { signal: AbortSignal }) => ({
          type: "DONE" as const,
          text: await work.run(signal),
        });
        const worker = machine(`late-machine-${finishOnAbort}`, definition, {
          effects: { work: { run, finishOnAbort } },
        });
        const node = await bench.open({ programs: [worker] });
        const one = await node.start(worker, undefined as never, { id: "one" });
        await work.begun.promise;
        await node.stop({ grace: 50 });
        const other = await bench.open({ programs: [worker] });
        await other.instance(worker, "one").waitFor(({ status }) => status === "done", { timeout: "10s" });
        const history = await other.instance(worker, "one").history();
        expect(history.at(-1)).toMatchObject({ type: "DONE", event: { text: answer } });
        expect(work.calls).toBe(calls);
        expect(one.id).toBe("one");
      },
    );

    test("a result that came before the abort counts, though it is written after it", async () => {
      const commits = deferred<void>();
      const asked = deferred<void>();
      let calls = 0;
      let failed = 0;
      const quick = workflow("late-commit", (ctx) => ctx.step("work", () => ++calls));
      const runs = {
        ...bench.store.runs,
        commit: async (...all: Parameters<typeof bench.store.runs.commit>) => {
          if (all[0].some(({ effects }) => effects.some(({ kind }) => kind === "append"))) {
            asked.resolve();
            await commits.promise;
            if (failed++ === 0) throw Object.assign(new Error("away"), { code: "STORE_UNAVAILABLE" });
          }
          return bench.store.runs.commit(...all);
        },
      };
      const slow = { ...bench.store, runs };
      const node = await bench.open({ programs: [quick], ...{ store: slow } });
      const run = await node.start(quick);
      await asked.promise;
      const stopped = node.stop({ grace: 20 });
      await new Promise((resolve) => setTimeout(resolve, 150));
      commits.resolve();
      await stopped;
      const other = await bench.open({ programs: [quick] });
      expect(await run.result({ timeout: "10s" })).toBe(1);
      expect(calls).toBe(1);
      await other.stop();
    });

    test("an at-most-once step that returns after the abort counts as interrupted", async () => {
      const work = new Work();
      const once = workflow("late-once", (ctx) =>
        ctx.step("work", { atMostOnce: true }, ({ signal }) => work.run(signal)),
      );
      const node = await bench.open({ programs: [once] });
      const run = await node.start(once);
      await work.begun.promise;
      await node.stop({ grace: 50 });
      await bench.open({ programs: [once] });
      await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ cause: { code: "STEP_INTERRUPTED" } });
      expect(work.calls).toBe(1);
    });
  },
  { perTest: true },
);

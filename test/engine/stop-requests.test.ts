// After a cancel or a pause has returned, nothing of that run begins, on any node, on both stores.

import { describe, expect, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import type { RunHandle } from "../../src/client/run-handle.js";
import { dag } from "../../src/dag/dag.js";
import { each, task } from "../../src/dag/task.js";
import { graph, state } from "../../src/graph/index.js";
import type { AnyDefinition } from "../../src/program/definition.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";
import { onBothStores } from "../workflow/node-suite.js";

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Notes on the process's own clock when user code is entered, by run. */
class Entries {
  readonly #at = new Map<string, number[]>();

  note(id: string): void {
    this.#at.set(id, [...(this.#at.get(id) ?? []), performance.now()]);
  }

  count(id: string): number {
    return this.#at.get(id)?.length ?? 0;
  }

  after(id: string, at: number): number {
    return (this.#at.get(id) ?? []).filter((one) => one > at).length;
  }
}

interface Kind {
  readonly program: AnyDefinition;
  readonly input?: unknown;
}

const S = state<{ n: number; list?: number[] }>();

/** Programs of many short pieces that note each one; `id` is the run that was started. */
const kinds: Record<string, (entries: Entries) => Kind> = {
  "a loop of steps": (entries) => ({
    program: workflow("stop-loop", async (ctx) => {
      for (let n = 0; n < 3_000; n++) await ctx.step("short", () => entries.note(ctx.runId));
    }),
  }),
  "a loop of transactions": (entries) => ({
    program: workflow("stop-transactions", async (ctx) => {
      for (let n = 0; n < 3_000; n++) await ctx.transaction("short", () => entries.note(ctx.runId));
    }),
  }),
  "parallel branches that wait between their steps": (entries) => ({
    program: workflow("stop-branches", async (ctx) => {
      const branch = async (name: string) => {
        for (let n = 0; n < 400; n++) {
          await pause(3);
          await ctx.step(name, () => entries.note(ctx.runId));
        }
      };
      await Promise.all(["a", "b", "c"].map(branch));
    }),
  }),
  "a graph that goes round": (entries) => ({
    program: graph("stop-graph", {
      state: S,
      start: "round",
      limits: { iterations: 5_000 },
      nodes: {
        round: (ctx, { n }) => {
          entries.note(ctx.runId);
          return { n: n + 1 };
        },
      },
      edges: { round: { to: ["round", "end"], choose: ({ n }) => (n < 4_000 ? "round" : "end") } },
    }),
    input: { n: 0 },
  }),
  "a map over many items": (entries) => ({
    program: graph("stop-map", {
      state: S,
      start: "items",
      nodes: {
        items: S.map(
          () => Array.from({ length: 2_000 }, (_, i) => i),
          async (ctx, item) => {
            entries.note(ctx.runId);
            // Without it, all items on the memory store end before the last pause of a round is sent.
            await pause(2);
            return item;
          },
          { into: "list", limit: 4 },
        ),
      },
      edges: { items: "end" },
    }),
    input: { n: 0 },
  }),
  "a DAG of many items": (entries) => ({
    program: dag("stop-dag", {
      items: each({ over: () => Array.from({ length: 300 }, (_, i) => i), parallel: 5 }, async (ctx) => {
        entries.note(ctx.dagRunId);
        await ctx.step("inner", () => entries.note(ctx.dagRunId));
      }),
      after: task(async (ctx) => entries.note(ctx.dagRunId)),
    }),
  }),
  "an episode": (entries) => ({
    program: actor("stop-actor", {
      expectations: {
        busy: expectation({ budget: { turns: null, tokens: null, timeout: null } }, async (ctx) => {
          for (let n = 0; n < 3_000; n++) await ctx.step("short", () => entries.note(ctx.runId));
        }),
      },
    }).expectations.busy,
  }),
};

const ROUNDS = 4;

onBothStores(
  (bench) => {
    describe.each(Object.keys(kinds))("%s", (name) => {
      const open = async () => {
        const entries = new Entries();
        const kind = kinds[name]!(entries);
        const node = await bench.open({
          programs: [kind.program],
          concurrency: 8,
          timing: { renewEvery: 600, lease: 2_000 },
        });
        return { entries, node, ...kind };
      };

      test("begins nothing after a cancel has returned", async () => {
        const { entries, node, program, input } = await open();
        for (let round = 0; round < ROUNDS; round++) {
          const run: RunHandle<unknown> = await node.start(program, input);
          await expect.poll(() => entries.count(run.id), { interval: 1, timeout: 10_000 }).toBeGreaterThan(0);
          await pause(Math.random() * 30);
          const answer = await run.cancel();
          const at = performance.now();
          expect(answer).not.toMatchObject({ acknowledged: false });
          expect(["requested", "cancelled"]).toContain(answer.outcome);
          await pause(40);
          expect(entries.after(run.id, at)).toBe(0);
          await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
          expect(entries.after(run.id, at)).toBe(0);
        }
      });

      test("begins nothing after a pause has returned, and continues when it is resumed", async () => {
        const { entries, node, program, input } = await open();
        const run: RunHandle<unknown> = await node.start(program, input);
        for (let round = 0; round < ROUNDS; round++) {
          const before = entries.count(run.id);
          await expect.poll(() => entries.count(run.id), { interval: 1, timeout: 10_000 }).toBeGreaterThan(before);
          await pause(Math.random() * 20);
          const answer = await run.pause();
          const at = performance.now();
          expect(answer).not.toMatchObject({ acknowledged: false });
          expect(["requested", "paused"]).toContain(answer.outcome);
          await expect.poll(async () => (await run.status()).state, { timeout: 10_000 }).toBe("paused");
          await pause(40);
          expect(entries.after(run.id, at)).toBe(0);
          await run.resume();
        }
        await run.cancel();
      });
    });

    test("a run with a long step is asked to stop at once, not with its next renewal", async () => {
      const begun = deferred<void>();
      const long = workflow("stop-long", (ctx) =>
        ctx.step("long", ({ signal }) => {
          begun.resolve();
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        }),
      );
      const node = await bench.open({ programs: [long], timing: { lease: "60s", housekeeping: "10s" } });
      const run = await node.start(long);
      await begun.promise;
      const at = performance.now();
      const answer = await run.cancel();
      expect(answer).not.toMatchObject({ acknowledged: false });
      await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      expect(performance.now() - at).toBeLessThan(1_500);
    });

    test("a paused run whose function has returned is released only when its last step has ended", async () => {
      const begun = deferred<void>();
      const outside = deferred<void>();
      let isRunning = false;
      const loose = workflow("stop-loose", async (ctx) => {
        const notAwaited = ctx.step("slow", async () => {
          isRunning = true;
          begun.resolve();
          await pause(400);
          isRunning = false;
        });
        notAwaited.catch(() => {});
        await outside.promise;
      });
      const node = await bench.open({ programs: [loose] });
      const run = await node.start(loose);
      await begun.promise;
      await run.pause();
      outside.resolve();
      await expect.poll(async () => (await run.status()).state, { timeout: 10_000, interval: 5 }).toBe("paused");
      expect(isRunning).toBe(false);
      await run.cancel();
    });

    test("a run claimed ahead, which waits for a slot, is cancelled without one", async () => {
      const gate = deferred<void>();
      const begun: string[] = [];
      const one = workflow("stop-ahead", (ctx) =>
        ctx.step("hold", () => {
          begun.push(ctx.runId);
          return gate.promise;
        }),
      );
      const node = await bench.open({
        programs: [one],
        concurrency: 1,
        flow: { prefetch: 1 },
        timing: { lease: "60s", housekeeping: "10s" },
      });
      const first = await node.start(one);
      await expect.poll(() => begun, { timeout: 10_000 }).toEqual([first.id]);
      const second = await node.start(one);
      await expect.poll(async () => (await second.status()).state, { timeout: 10_000 }).toBe("running");
      expect(await second.cancel()).not.toMatchObject({ acknowledged: false });
      await expect(second.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      expect(begun).toEqual([first.id]);
      gate.resolve();
      await first.result({ timeout: "10s" });
    });

    test("a pause that comes when the run has ended, or while it ends, reports it", async () => {
      const quick = workflow("stop-quick", (ctx) => ctx.step("one", () => 1));
      const node = await bench.open({ programs: [quick] });
      const seen = new Set<string>();
      for (let round = 0; round < 40; round++) {
        const run = await node.start(quick);
        await pause(Math.random() * 8);
        const answer = await run.pause();
        seen.add(answer.outcome);
        if (answer.outcome === "ended") {
          expect(answer.state).toBe("completed");
          expect((await run.status()).state).toBe("completed");
        } else {
          expect(answer).not.toMatchObject({ acknowledged: false });
          await expect.poll(async () => (await run.status()).state, { timeout: 10_000 }).toBe("paused");
          await run.resume();
          expect(await run.result({ timeout: "10s" })).toBe(1);
        }
      }
      expect(seen.has("ended") || seen.has("paused")).toBe(true);
    });

    test.each(["a workflow", "a graph"])(
      "a pause of %s that was acknowledged takes effect, also when its last work finishes",
      async (what) => {
        const begun = deferred<AbortSignal>();
        let calls = 0;
        const run = async (signal: AbortSignal) => {
          calls++;
          begun.resolve(signal);
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          return calls;
        };
        const last: AnyDefinition =
          what === "a graph"
            ? graph("stop-last-node", {
                state: S,
                start: "last",
                nodes: { last: S.node({ finishOnAbort: true }, async ({ signal }) => ({ n: await run(signal) })) },
                edges: { last: "end" },
              })
            : workflow("stop-last", async (ctx) => ({
                n: await ctx.step("last", { finishOnAbort: true }, ({ signal }) => run(signal)),
              }));
        const node = await bench.open({ programs: [last] });
        const handle = await node.start(last, { n: 0 });
        await begun.promise;
        expect(["requested", "paused"]).toContain((await handle.pause()).outcome);
        await expect.poll(async () => (await handle.status()).state, { timeout: 10_000 }).toBe("paused");
        await handle.resume();
        expect(await handle.result({ timeout: "10s" })).toEqual({ n: 1 });
        expect(calls).toBe(1);
      },
    );

    test("a holder that never acknowledges does not keep the caller waiting: the result has acknowledged: false", async () => {
      const [groupId] = await bench.store.runs.groupIds([
        { env: "default", stack: null, queue: "stop-deaf", program: "stop-deaf", version: null },
      ]);
      const deaf = workflow("stop-deaf", async () => 1);
      const node = await bench.open({ programs: [] });
      const run = await node.start(deaf);
      const request = { owner: crypto.randomUUID(), token: crypto.randomUUID(), leaseMs: 60_000 };
      const [claim] = await bench.store.runs.claim({ ...request, groupIds: [groupId!], limit: 1 });
      expect(claim).toMatchObject({ runId: run.id });
      const at = performance.now();
      expect(await run.cancel()).toEqual({ outcome: "requested", acknowledged: false });
      expect(performance.now() - at).toBeLessThan(4_000);
      expect(await run.pause()).toEqual({ outcome: "requested", acknowledged: false });
    });
  },
  { perTest: true },
);

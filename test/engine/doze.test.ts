// A run that sleeps for a moment while all slots are taken keeps its claim and lends its slot to others.

import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import { dag } from "../../src/dag/dag.js";
import { task } from "../../src/dag/task.js";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

let n = 0;
const ONE_SLOT = { concurrency: 1 } as const;
const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

onBothStores((bench) => {
  /** How its claims ended, in order. */
  const watch = (node: Node) => {
    const settled: string[] = [];
    node.on("run.settled", ({ as }) => void settled.push(as));
    return settled;
  };
  const nap = (ms: number, options: Parameters<typeof workflow>[1] | object = {}) =>
    workflow(`nap-${++n}`, options as object, async (ctx) => {
      await ctx.sleep("nap", ms);
      return "rested";
    });

  describe("a run that sleeps while all slots are taken", () => {
    test("keeps its claim for a moment: one claim, and others begin meanwhile", async () => {
      const program = nap(300);
      const node = await bench.open({ programs: [program], ...ONE_SLOT });
      const settled = watch(node);
      const startedAt = performance.now();
      const runs = await Promise.all(Array.from({ length: 5 }, () => node.start(program, undefined)));
      for (const run of runs) expect(await run.result({ timeout: "20s" })).toBe("rested");
      // One after the other they would take five times as long.
      expect(performance.now() - startedAt).toBeLessThan(1_400);
      expect(settled).toEqual(Array(5).fill("completed"));
      for (const run of runs) expect((await bench.store.runs.get(run.id))!.epoch).toBe(1);
    });

    test("keeps its claim over renewals, although no slot is free", async () => {
      const program = nap(1_200);
      const long = workflow(`long-${++n}`, async (ctx) => ctx.step("long", () => pass(900)));
      const timing = { lease: 3_000, renewEvery: 100 };
      const node = await bench.open({ programs: [program, long], ...ONE_SLOT, timing });
      const settled = watch(node);
      const run = await node.start(program, undefined);
      await expect.poll(async () => (await run.status()).state).toBe("running");
      await node.start(long, undefined);
      expect(await run.result({ timeout: "20s" })).toBe("rested");
      expect(settled).toEqual(["completed", "completed"]);
      expect((await bench.store.runs.get(run.id))!.epoch).toBe(1);
    });

    test("is parked for a longer sleep", async () => {
      const program = nap(3_000);
      const node = await bench.open({ programs: [program], ...ONE_SLOT });
      const run = await node.start(program, undefined);
      await expect.poll(async () => (await run.status()).state).toBe("parked");
      await run.cancel();
    });

    test("is parked where another slot is free", async () => {
      const program = nap(1_000);
      const node = await bench.open({ programs: [program], concurrency: 2 });
      const run = await node.start(program, undefined);
      await expect.poll(async () => (await run.status()).state).toBe("parked");
    });

    test("is parked when a message could end its wait as well", async () => {
      const go = signal<string>("go");
      const program = workflow(`either-${++n}`, async (ctx) => {
        return Promise.race([ctx.sleep("nap", 1_500), ctx.waitFor(go)]);
      });
      const node = await bench.open({ programs: [program], ...ONE_SLOT });
      const run = await node.start(program, undefined);
      await expect.poll(async () => (await run.status()).state).toBe("parked");
      await run.signal(go, "now");
      expect(await run.result({ timeout: "10s" })).toBe("now");
    });

    test("is parked under a limit, and where its recovery fails what died", async () => {
      for (const options of [{ concurrency: 1 }, { recovery: "fail" }] as const) {
        const program = nap(1_000, options);
        const node = await bench.open({ programs: [program], ...ONE_SLOT });
        const run = await node.start(program, undefined);
        await expect.poll(async () => (await run.status()).state).toBe("parked");
        await run.cancel();
        await node.stop();
      }
    });

    test("works with no more others at once than there are slots", async () => {
      let active = 0;
      let most = 0;
      const program = workflow(`busy-${++n}`, async (ctx) => {
        const work = async () => {
          most = Math.max(most, ++active);
          await pass(30);
          active--;
        };
        await ctx.step("before", work);
        await ctx.sleep("nap", 50);
        await ctx.step("after", work);
      });
      const node = await bench.open({ programs: [program], concurrency: 2 });
      const runs = await Promise.all(Array.from({ length: 8 }, () => node.start(program, undefined)));
      for (const run of runs) await run.result({ timeout: "20s" });
      expect(most).toBe(2);
    });

    test("is cancelled at once", async () => {
      const program = nap(1_900);
      const node = await bench.open({ programs: [program], ...ONE_SLOT });
      const run = await node.start(program, undefined);
      await expect.poll(async () => (await bench.store.journal.read(run.id))!.entries.length).toBe(2);
      const askedAt = performance.now();
      await run.cancel();
      await expect.poll(async () => (await run.status()).state, { interval: 10 }).toBe("cancelled");
      expect(performance.now() - askedAt).toBeLessThan(1_500);
    });

    test("is handed back when its node stops, and continues elsewhere", async () => {
      const program = nap(1_500);
      const first = await bench.open({ programs: [program], ...ONE_SLOT });
      const settled = watch(first);
      const run = await first.start(program, undefined);
      await expect.poll(async () => (await bench.store.journal.read(run.id))!.entries.length).toBe(2);
      await first.stop({ grace: "5s" });
      expect(settled).toEqual(["handed-back"]);
      await bench.open({ programs: [program], ...ONE_SLOT });
      expect(await run.result({ timeout: "10s" })).toBe("rested");
    });

    test("continues on another node where its own has no slot for it", async () => {
      const program = nap(100);
      const busy = workflow(`long-${++n}`, async (ctx) => ctx.step("long", () => pass(4_000)));
      const own = await bench.open({ programs: [program, busy], ...ONE_SLOT });
      const run = await own.start(program, undefined);
      await expect.poll(async () => (await bench.store.journal.read(run.id))!.entries.length).toBe(2);
      await own.start(busy, undefined);
      await bench.open({ programs: [program], concurrency: 2 });
      expect(await run.result({ timeout: "3s" })).toBe("rested");
    });

    test("cleans up with no more others at once than there are slots", async () => {
      let active = 0;
      let most = 0;
      const work = async () => {
        most = Math.max(most, ++active);
        await pass(100);
        active--;
      };
      const program = workflow(`undone-${++n}`, async (ctx) => {
        try {
          await ctx.sleep("nap", 1_900);
        } finally {
          await ctx.cleanup(() => ctx.step("undo", work));
        }
      });
      const node = await bench.open({ programs: [program], ...ONE_SLOT, flow: { prefetch: 0 } });
      const runs = await Promise.all(Array.from({ length: 4 }, () => node.start(program, undefined)));
      const begun = async () =>
        (await Promise.all(runs.map((run) => bench.store.journal.read(run.id)))).map((log) => log!.entries.length);
      await expect.poll(begun).toEqual([2, 2, 2, 2]);
      await Promise.all(runs.map((run) => run.cancel()));
      for (const run of runs) await expect.poll(async () => (await run.status()).state).toBe("cancelled");
      expect(most).toBe(1);
    });

    test("does not count for runUntilIdle", async () => {
      const program = nap(1_900);
      const node = await bench.open({ programs: [program], ...ONE_SLOT });
      const run = await node.start(program, undefined);
      await expect.poll(async () => (await bench.store.journal.read(run.id))!.entries.length).toBe(2);
      expect((await run.status()).state).toBe("running");
      expect((await node.runUntilIdle({ timeout: "1s" })).idle).toBe(true);
    });

    test("leaves a node that takes no more work", async () => {
      const on: string[] = [];
      const polls = (name: string) =>
        workflow("polls", async (ctx) => {
          for (let i = 0; i < 12; i++) {
            await ctx.step(`look${i}`, () => void on.push(name));
            await ctx.sleep(`nap${i}`, 100);
          }
        });
      const program = polls("first");
      const first = await bench.open({ programs: [program], ...ONE_SLOT });
      const run = await first.start(program, undefined);
      await expect.poll(() => on.length).toBeGreaterThan(1);
      await bench.open({ programs: [polls("second")], concurrency: 2 });
      await first.mode.set("disabled");
      await run.result({ timeout: "20s" });
      expect(on.at(-1)).toBe("second");
    });

    test("is parked while a suspect is executed alone", async () => {
      const isAtWork = { suspect: false };
      let foreign = 0;
      const loop = workflow(`loop-${++n}`, async (ctx) => {
        for (let i = 0; i < 40; i++) {
          await ctx.step(`s${i}`, async () => {
            if (isAtWork.suspect) foreign++;
            await pass(10);
          });
          await ctx.sleep(`n${i}`, 200);
        }
      });
      const suspect = workflow(`suspect-${++n}`, async (ctx) =>
        ctx.step("work", async () => {
          isAtWork.suspect = true;
          await pass(600);
          isAtWork.suspect = false;
        }),
      );
      const first = await bench.open({ programs: [loop], recovery: { crashLimit: 2 } });
      const run = await first.start(suspect, undefined);
      const group = { env: "default", stack: null, queue: suspect.name, program: suspect.name, version: null };
      const groupIds = await bench.store.runs.groupIds([group]);
      const ghost = { owner: randomUUID(), token: randomUUID(), groupIds, limit: 1, leaseMs: 30, suspects: 1 } as const;
      expect(await bench.store.runs.claim(ghost)).toHaveLength(1);
      await expect.poll(async () => (await run.status()).state).toBe("waiting");
      await first.stop();
      const node = await bench.open({ programs: [loop, suspect], concurrency: 2, recovery: { crashLimit: 2 } });
      const loops = await Promise.all(Array.from({ length: 4 }, () => node.start(loop, undefined)));
      await run.result({ timeout: "20s" });
      expect(foreign).toBe(0);
      await Promise.all(loops.map((one) => one.cancel()));
    });

    test("is parked if it is an episode: its budget counts no sleep", async () => {
      const rest = expectation({ budget: { timeout: 400 } }, async (ctx) => {
        await ctx.sleep("nap", 1_200);
        return "rested";
      });
      const one = actor(`rests-${++n}`, { expectations: { rest } });
      const node = await bench.open({ programs: [one], ...ONE_SLOT });
      const run = await node.start(one.expectations.rest, undefined as never);
      expect(await run.result({ timeout: "10s" })).toBe("rested");
    });

    test("is parked if it is a task with a timeout, which counts its sleeps also when it gets no slot after one", async () => {
      const naps = task({ timeout: "1s", retry: 1 }, async (ctx) => {
        for (let i = 0; i < 6; i++) await ctx.sleep(`nap ${i}`, 300);
      });
      const sleeper = dag(`sleeper-${++n}`, { naps });
      const slow = workflow(`slow-${++n}`, async (ctx) => ctx.step("slow", () => pass(600)));
      const node = await bench.open({ programs: [sleeper, slow], ...ONE_SLOT, flow: { prefetch: 0 } });
      const run = await node.start(sleeper, undefined as never);
      const isAsleep = async () => {
        const [one] = await run.tasks();
        return one !== undefined && (await bench.store.journal.read(one.runId!))!.entries.length > 1;
      };
      await expect.poll(isAsleep, { interval: 10 }).toBe(true);
      const others = await Promise.all(Array.from({ length: 8 }, () => node.start(slow, undefined as never)));
      const failed = expect(run.result({ timeout: "20s" })).rejects;
      await failed.toMatchObject({ cause: { errors: [{ code: "TASK_TIMEOUT" }] } });
      await Promise.all(others.map((one) => one.cancel()));
    });

    test("is parked if it would start over when its node dies", async () => {
      const nap = workflow(`restarts-${++n}`, { recovery: "restart" }, async (ctx) => {
        await ctx.sleep("nap", 800);
        return "rested";
      });
      const node = await bench.open({ programs: [nap], ...ONE_SLOT });
      const settled = watch(node);
      const run = await node.start(nap, undefined);
      expect(await run.result({ timeout: "10s" })).toBe("rested");
      expect(settled).toEqual(["parked", "completed"]);
    });
  });
});

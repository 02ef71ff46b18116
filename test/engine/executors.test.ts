// Executors: which part of a node serves which queue, each with slots of its own; queues without a rule are left to other nodes.

import { describe, expect, test } from "vitest";
import type { NodeEvents } from "../../src/node/node-events.js";
import type { NodeOptions } from "../../src/node/node-options.js";
import { createBus } from "../../src/telemetry/bus.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";
import { onBothStores } from "../workflow/node-suite.js";

onBothStores(
  (bench) => {
    test("the first rule that matches a queue decides, and the claim names the executor", async () => {
      const names = ["ml::train", "ml::other", "first::heavy_sort", "first::light"];
      const programs = names.map((name) => workflow(name, async () => name));
      const serve = [["ml::train", "gpu"], ["heavy_*", "big"], ["ml::*", "big"], "**"] as const;
      const node = await bench.open({ programs, flow: { executors: { gpu: 1, big: 1, default: 2 }, serve } });
      expect(node.serves().map(({ program, executor }) => [program, executor])).toEqual([
        ["ml::train", "gpu"],
        ["ml::other", "big"],
        ["first::heavy_sort", "big"],
        ["first::light", "default"],
      ]);
      expect(node.warnings.filter((text) => /serve|executors/.test(text))).toEqual([]);
      const claimed = new Map<string, string>();
      node.on("run.claimed", ({ program, executor }) => claimed.set(program, executor));
      for (const program of programs) {
        expect(await (await node.start(program)).result({ timeout: "10s" })).toBe(program.name);
      }
      expect([...claimed.values()]).toEqual(["gpu", "big", "big", "default"]);
      const record = (await bench.store.nodes.list({ env: "default" })).find(
        (one) => one.incarnation === node.incarnation,
      );
      expect(record?.executors).toEqual([
        { name: "gpu", slots: 1, queues: ["ml::train"] },
        { name: "big", slots: 1, queues: ["ml::other", "first::heavy_sort"] },
        { name: "default", slots: 2, queues: ["first::light"] },
      ]);
      await node.stop();
    });

    test("a full executor does not keep the others from claiming, and each executes as many runs as it has slots", async () => {
      const gate = deferred<void>();
      const [atWork, most] = [
        { gpu: 0, default: 0 },
        { gpu: 0, default: 0 },
      ];
      const enter = async (who: "gpu" | "default", work: () => Promise<void>) => {
        most[who] = Math.max(most[who], ++atWork[who]);
        await work();
        atWork[who]--;
      };
      const train = workflow("full::ml::train", async (ctx) =>
        ctx.step("train", () => enter("gpu", () => gate.promise)),
      );
      const light = workflow("full::light", async (ctx) =>
        ctx.step("light", () => enter("default", () => new Promise((resolve) => setTimeout(resolve, 5)))),
      );
      const executors = { gpu: 1, default: 3 };
      const node = await bench.open({
        programs: [train, light],
        flow: { executors, serve: [["**::ml::*", "gpu"], "**"] },
      });
      const trains = await Promise.all(Array.from({ length: 5 }, () => node.start(train)));
      await expect.poll(() => atWork.gpu, { timeout: 10_000 }).toBe(1);
      const lights = await Promise.all(Array.from({ length: 20 }, () => node.start(light)));
      await Promise.all(lights.map((run) => run.result({ timeout: "20s" })));
      const states = await Promise.all(trains.map(async (run) => (await run.status()).state));
      expect(states.sort()).toEqual(["running", "waiting", "waiting", "waiting", "waiting"]);
      gate.resolve();
      await Promise.all(trains.map((run) => run.result({ timeout: "20s" })));
      expect(most).toEqual({ gpu: 1, default: 3 });
      await node.stop();
    });

    test("a run that no rule matches is not claimed, is marked so, and is claimed by a node that serves it", async () => {
      const mine = workflow("part::etl::load", async () => "mine");
      const others = workflow("part::ml::train", { queue: "part::ml::gpu" }, async () => "others");
      const bus = createBus<NodeEvents>();
      const told: unknown[] = [];
      bus.on("node.unserved", ({ programs }) => told.push(programs));
      const started: unknown[] = [];
      bus.on("node.started", ({ executors, programs }) => started.push({ executors, programs }));
      const programs = [mine, others];
      const farm = await bench.open({ programs, flow: { serve: ["part::etl::*"] }, concurrency: 4, bus });
      const unserved = { program: "part::ml::train", queue: "part::ml::gpu", version: null, executor: null };
      expect(told).toEqual([[unserved]]);
      expect(farm.warnings).toContain(
        "flow.serve: no rule matches the program part::ml::train (queue part::ml::gpu): this node never works on it",
      );
      expect(started).toEqual([
        {
          executors: [{ name: "default", slots: 4, queues: ["part::etl::load"] }],
          programs: [
            { program: "part::etl::load", queue: "part::etl::load", version: null, executor: "default" },
            unserved,
          ],
        },
      ]);
      const stray = await farm.start(others);
      expect(await (await farm.start(mine)).result({ timeout: "10s" })).toBe("mine");
      expect(await farm.runUntilIdle({ timeout: "10s" })).toMatchObject({ idle: true });
      expect(await stray.status()).toMatchObject({ state: "waiting", noCapableNode: true, epoch: 0 });

      const box = await bench.open({ programs, flow: { executors: { gpu: 1 }, serve: [["**::ml::*", "gpu"]] } });
      expect(await stray.result({ timeout: "10s" })).toBe("others");
      await Promise.all([farm.stop(), box.stop()]);
    });

    test("a stop hands back the runs of every executor, and a node is idle when all of them are", async () => {
      const gate = deferred<void>();
      let begun = 0;
      const hold = () => {
        begun++;
        return gate.promise;
      };
      const one = workflow("stop::one", async (ctx) => ctx.step("hold", hold));
      const two = workflow("stop::two", async (ctx) => ctx.step("hold", hold));
      const executors = { a: 1, b: 1 };
      const serve = [
        ["one", "a"],
        ["two", "b"],
      ] as const;
      const node = await bench.open({ programs: [one, two], flow: { executors, serve } });
      const runs = [await node.start(one), await node.start(two)];
      await expect.poll(() => begun, { timeout: 10_000 }).toBe(2);
      expect(node.active).toBe(2);
      expect(await node.runUntilIdle({ timeout: 50 })).toMatchObject({ idle: false });
      const stopped = node.stop({ grace: "10s" });
      gate.resolve();
      await stopped;
      for (const run of runs) expect((await bench.store.runs.get(run.id))?.state).toMatch(/waiting|completed/);
      expect(node.active).toBe(0);
    });
  },
  { perTest: true },
);

describe("rules that cannot be served are rejected at the start", () => {
  const programs = [workflow("any", async () => {})];
  onBothStores((bench) => {
    const options = (part: object) => ({ programs, ...part }) as unknown as Omit<NodeOptions, "store">;
    test.each<[object, string, RegExp]>([
      [{ serve: [["**", "gpu"]] }, "flow.serve[0]", /no executor "gpu"; the executors are default/],
      [{ executors: { gpu: 1 } }, "flow.serve", /no executor "default"; the executors are gpu/],
      [{ executors: { gpu: 1 }, serve: ["**"] }, "flow.serve[0]", /no executor "default"/],
      [
        {
          executors: { gpu: 1 },
          serve: [
            ["a::*", "gpu"],
            ["a:b", "gpu"],
          ],
        },
        "flow.serve[1]",
        /has the characters/,
      ],
      [{ serve: [["a", "default", "b"]] }, "flow.serve[0]", /a pattern and an executor/],
      [{ serve: "**" }, "flow.serve", /must be a list/],
      [{ serve: Array.from({ length: 1001 }, () => "a") }, "flow.serve", /limit is 1000/],
      [{ executors: {} }, "flow.executors", /at least one/],
      [{ executors: [1] }, "flow.executors", /an object of names and slots/],
      [{ executors: { default: 0 } }, "flow.executors.default", /from 1 to 10000; it is 0/],
      [{ executors: { default: -1 } }, "flow.executors.default", /it is -1/],
      [{ executors: { default: 1.5 } }, "flow.executors.default", /it is 1.5/],
      [{ executors: { "g p u": 1 } }, "flow.executors.g p u", /must be letters/],
      [
        { executors: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`e${i}`, 1])) },
        "flow.executors",
        /limit is 32/,
      ],
      [{ flow: { executors: { default: 2 } }, concurrency: 2 }, "concurrency", /omit concurrency/],
      [{ executors: { default: 8, gpu: 1 }, prefetch: 2 }, "flow.prefetch", /executor gpu has 1 slots/],
    ])("%j", async (part, path, problem) => {
      const opening = bench.open(options("flow" in part ? part : { flow: part }));
      await expect(opening).rejects.toMatchObject({ path });
      await expect(opening).rejects.toThrow(problem);
    });

    test("an executor that gets no program causes a warning", async () => {
      const node = await bench.open({
        programs,
        flow: { executors: { default: 1, gpu: 1 }, serve: ["**", ["ml::*", "gpu"]] },
      });
      expect(node.warnings).toContain("flow.executors.gpu: no program of this node runs on it");
      await node.stop();
    });
  });
});

// DAGs as data: made of tasks and expectations by name, changed without a restart, continued in the version they began in.

import { expect, test } from "vitest";
import type { Strategies } from "../../src/actor/named-strategy.js";
import type { Tasks } from "../../src/dag/named-task.js";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { event } from "../../src/trigger/event.js";
import { onBothStores } from "../workflow/node-suite.js";

const arrived = event<{ file: string }>()("file.arrived");
const go = signal("go");
const wait = { timeout: 10_000 };

const tasks: Tasks = {
  list: (_ctx, input: { file: string }, { parts }: { parts: number }) =>
    Array.from({ length: parts }, (_, i) => `${input.file}.${i}`),
  shout: (_ctx, text: string) => text.toUpperCase(),
  join: (_ctx, needs: Record<string, unknown>, { by }: { by: string }) => Object.values(needs).flat().join(by),
  wait: async (ctx, _needs, config) => {
    await ctx.waitFor(go);
    return config;
  },
  fail: () => {
    throw new Error("always");
  },
  states: (_ctx, outcomes: Record<string, { state: string }>) =>
    Object.fromEntries(Object.entries(outcomes).map(([name, { state }]) => [name, state])),
};
const strategies: Strategies = {
  double: async (ctx, input: { n: number }) => ctx.step("double", () => input.n * 2),
};

const flow = {
  on: [{ event: "file.arrived" }],
  result: ["join"],
  tasks: {
    // In no order: needs are resolved when all tasks are known.
    join: { task: "join", config: { by: "+" }, needs: ["each"] },
    each: { task: "shout", needs: ["list"], each: "needs.list", parallel: 2 },
    list: { task: "list", config: { parts: 2 } },
  },
};

onBothStores((bench) => {
  let envs = 0;
  async function scene() {
    const env = `dags-${++envs}`;
    const open = (more: object = {}) => bench.open({ env, programs: [], definitions: { strategies, tasks }, ...more });
    const nodes = [await open(), await open()] as const;
    const save = async (name: string, body: object, on: readonly Node[] = nodes) => {
      const seen = on.map((node) => loaded(node, name));
      const version = await nodes[0].definitions.save(name, body);
      await Promise.all(seen);
      return version;
    };
    const start = async (name: string, input: unknown) =>
      nodes[1].start(await nodes[1].definitions.program(name), input);
    return { env, open, nodes, save, start, stop: () => Promise.all(nodes.map((node) => node.stop())) };
  }

  function loaded(node: Node, name: string): Promise<void> {
    return new Promise((resolve) => {
      const off = node.on("definition.loaded", (one) => {
        if (one.name !== name) return;
        off();
        resolve();
      });
    });
  }

  test("a DAG that is saved is started by its triggers and by its name, on every node, without a restart", async () => {
    const { nodes, save, start, stop } = await scene();
    expect((await nodes[1].emit(arrived, { file: "a" })).runs).toEqual([]);
    expect(await save("flow", flow)).toBe(1);
    const { runs } = await nodes[1].emit(arrived, { file: "b" });
    expect(await nodes[0].run(runs[0]!.runId!).result({ timeout: "10s" })).toEqual({ join: "B.0+B.1" });
    const called = await start("flow", { file: "c" });
    expect(await called.result({ timeout: "10s" })).toEqual({ join: "C.0+C.1" });
    expect((await called.status()).group.version).toBe("1");
    await stop();
  });

  test("rules as data: a task runs, or is skipped, by how its needs ended", async () => {
    const { save, start, stop } = await scene();
    await save("rules", {
      result: ["any", "all"],
      tasks: {
        bad: { task: "fail", retry: 1 },
        good: { task: "shout" },
        any: {
          task: "states",
          needs: ["bad", "good"],
          when: { and: ["anySucceeded", { not: { allSucceeded: ["bad"] } }] },
        },
        all: { task: "states", needs: ["bad", "good"], when: { or: ["allSucceeded", { noneFailed: ["bad"] }] } },
      },
    });
    const run = await start("rules", "text");
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ cause: { code: "DAG_FAILED" } });
    const { runs } = await bench.store.runs.list({ env: (await run.status()).group.env }, { limit: 9 });
    const states = Object.fromEntries(runs.map(({ group, state }) => [group.program, state]));
    expect(states).toMatchObject({ "rules::any": "completed", "rules::all": "skipped", "rules::bad": "failed" });
    await stop();
  });

  test("a task that runs an expectation, of an actor that is data too; its input is filled in", async () => {
    const { save, start, stop } = await scene();
    await save("calculator", { concurrency: 1, expectations: { twice: { strategy: "double" } } });
    await save("sums", {
      tasks: {
        first: { episode: "calculator::twice", input: { n: { $: "input.n" } } },
        second: {
          episode: "calculator::twice",
          needs: ["first"],
          input: { n: { $: "needs.first" }, of: [{ $: "input" }, "$"] },
          onFailure: { attempts: 2, delay: 10 },
        },
      },
    });
    expect(await (await start("sums", { n: 5 })).result({ timeout: "10s" })).toEqual({ first: 10, second: 20 });
    await stop();
  });

  test("a run continues in its version, also on nodes that start later; later runs use the new one", async () => {
    const { env, open, save, start, stop } = await scene();
    const slow = (config: string) => ({
      tasks: { hold: { task: "wait", config }, old: { task: "join", config: { by: "" }, needs: ["hold"] } },
    });
    await save("slow", slow("first"));
    const begun = await start("slow", null);
    const held = async (version: string) => {
      const { runs } = await bench.store.runs.list({ env, program: "slow::hold", states: ["parked"] }, { limit: 5 });
      return runs.find(({ group }) => group.version === version)?.id;
    };
    await expect.poll(() => held("1"), wait).toBeDefined();
    expect(await save("slow", { tasks: { hold: { task: "wait", config: "second" } } })).toBe(2);
    const next = await start("slow", null);
    await expect.poll(() => held("2"), wait).toBeDefined();
    await stop();
    // No node that knew the first version is left. It has a task that the second one no longer has.
    const later = await open();
    for (const version of ["1", "2"]) await later.run((await held(version))!).signal(go);
    expect(await later.run(begun.id).result({ timeout: "10s" })).toEqual({ hold: "first", old: "first" });
    expect(await later.run(next.id).result({ timeout: "10s" })).toEqual({ hold: "second" });
    await later.stop();
  });

  test("an episode continues although its actor no longer has the expectation", async () => {
    const env = `dags-${++envs}`;
    const patient = { strategy: "patient" };
    const more: Strategies = { ...strategies, patient: async (ctx) => ctx.waitFor(go).then(() => "heard") };
    const node = await bench.open({ env, programs: [], definitions: { strategies: more } });
    await node.definitions.save("watcher", { expectations: { old: patient, kept: patient } });
    const begun = await node.start(await node.definitions.program("watcher::old"), null);
    await expect.poll(async () => (await begun.status()).state, wait).toBe("parked");
    const again = loaded(node, "watcher");
    await node.definitions.save("watcher", { expectations: { kept: patient } });
    await again;
    await node.stop();
    const later = await bench.open({ env, programs: [], definitions: { strategies: more } });
    await expect(later.definitions.program("watcher::old")).rejects.toMatchObject({ code: "DEFINITION_UNAVAILABLE" });
    await later.run(begun.id).signal(go);
    expect(await later.run(begun.id).result({ timeout: "10s" })).toBe("heard");
    await later.stop();
  });

  test("a disabled definition starts no runs and its open runs continue; while in use it cannot be removed", async () => {
    const { env, nodes, save, start, stop } = await scene();
    await save("held", { on: [{ event: "file.arrived" }], tasks: { hold: { task: "wait" } } });
    const begun = await start("held", null);
    const holds = async () =>
      (await bench.store.runs.list({ env, program: "held::hold", states: ["parked"] }, { limit: 1 })).runs[0]?.id;
    await expect.poll(holds, wait).toBeDefined();
    const off = nodes.map((node) => loaded(node, "held"));
    expect(await nodes[0].definitions.disable("held")).toBe(true);
    await Promise.all(off);
    await expect.poll(async () => (await nodes[1].emit(arrived, { file: "x" })).runs, wait).toEqual([]);
    await expect(start("held", null)).rejects.toMatchObject({ code: "DEFINITION_UNAVAILABLE" });
    await expect(nodes[0].definitions.remove("held")).rejects.toMatchObject({ code: "DEFINITION_IN_USE" });
    await nodes[0].run((await holds())!).signal(go);
    await begun.result({ timeout: "10s" });
    await nodes[0].definitions.remove("held");
    expect(await nodes[0].definitions.list()).toEqual([]);
    expect(await nodes[0].definitions.enable("held")).toBe(false);
    await stop();
  });

  test("a node ignores definitions that need a task or expectation it lacks, or that are not for its stack", async () => {
    const { open, nodes, stop } = await scene();
    const other = await open({ definitions: { strategies, tasks: {} }, stack: "green" });
    const refused: string[] = [];
    other.on("definition.refused", ({ name, error }) => refused.push(`${name} ${(error as { code: string }).code}`));
    await nodes[0].definitions.save("flow", flow);
    await nodes[0].definitions.save("sums", { tasks: { one: { episode: "nobody::here" } } });
    const seen = loaded(other, "blue");
    await nodes[0].definitions.save("blue", { stacks: ["blue"], expectations: { twice: { strategy: "double" } } });
    await seen;
    expect([...new Set(refused)].sort()).toEqual(["flow TASK_UNKNOWN", "sums INVALID_INPUT"]);
    expect(other.serves()).toEqual([]);
    await other.stop();
    await stop();
  });

  test("a definition that no node could serve is rejected before it is saved, with the place of the mistake", async () => {
    const { nodes, stop } = await scene();
    const one = { task: "list" };
    const bad: [object, string][] = [
      [{ tasks: [] }, "body.tasks"],
      [{ tasks: { a: {} } }, "body.tasks.a"],
      [{ tasks: { a: { task: 3 } } }, "body.tasks.a.task"],
      [{ tasks: { a: { ...one, colour: "red" } } }, "body.tasks.a.colour"],
      [{ tasks: { a: { ...one, timeout: "soon" } } }, "body.tasks.a.timeout"],
      [{ tasks: { a: { ...one, retry: 0 } } }, "body.tasks.a.retry"],
      [{ tasks: { a: { ...one, when: "never" } } }, "body.tasks.a.when"],
      [{ tasks: { a: { ...one, when: { or: "x" } } } }, "body.tasks.a.when.or"],
      [{ tasks: { a: { ...one, each: "needs.b" } } }, "body.tasks.a.each"],
      [{ tasks: { a: { ...one, each: "output" } } }, "body.tasks.a.each"],
      [{ tasks: { a: { ...one, needs: "b" } } }, "body.tasks.a.needs"],
      [{ tasks: { a: { episode: "x::y", input: { n: { $: "needs.b" } } } } }, "body.tasks.a.input.n"],
      [{ tasks: { a: { episode: "x::y", onFailure: "explode" } } }, "onFailure"],
      [{ tasks: { a: one }, on: [{ every: "soon" }] }, "body.on[0].every"],
      [{ tasks: { a: one }, concurrency: 0 }, "concurrency"],
      [{ tasks: { a: one }, strange: 1 }, "body.strange"],
    ];
    for (const [wrong, path] of bad)
      await expect(nodes[0].definitions.save("flow", wrong), path).rejects.toMatchObject({
        code: "INVALID_INPUT",
        path,
      });
    const cycles = { a: { ...one, needs: ["b"] }, b: { ...one, needs: ["a"] } };
    for (const tasks of [
      {},
      cycles,
      { a: { ...one, needs: ["c"] } },
      { ["__proto__"]: one, a: { ...one, needs: ["a"] } },
    ])
      await expect(nodes[0].definitions.save("flow", { tasks })).rejects.toMatchObject({ code: "DAG_INVALID" });
    expect(await nodes[0].definitions.list()).toEqual([]);
    await stop();
  });
});

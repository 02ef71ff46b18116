// Actors as data: loaded by every node, changed without a restart, disabled without losing open episodes.

import { expect, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import type { Strategies } from "../../src/actor/named-strategy.js";
import { strategy } from "../../src/actor/strategy.js";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { event } from "../../src/trigger/event.js";
import { onBothStores } from "../workflow/node-suite.js";

const moved = event<{ resource: string; n: number }>()("resource.moved");
const go = signal("go");
const wait = { timeout: 10_000 };

const strategies: Strategies = {
  report: async (ctx, input: { n: number }, config: { prefix: string }) =>
    ctx.step("report", () => `${config.prefix} ${input.n}`),
  slow: async (ctx, input: { n: number }, config: { prefix: string }) => {
    await ctx.waitFor(go);
    return ctx.step("report", () => `${config.prefix} ${input.n}`);
  },
  moves: strategy({
    steps: { say: (_s, text: string) => text },
    init: (_s, input: { n: number }, _services, config) => ({
      n: input.n,
      prefix: (config as { prefix: string }).prefix,
      said: "",
    }),
    next: (state) =>
      state.said === ""
        ? { do: "call", name: "say", args: `${state.prefix} ${state.n}` }
        : { do: "done", result: state.said },
    handle: (state, step) => (step.did === "call" ? { ...state, said: step.result } : state),
  }),
};

const body = (prefix: string, more: { strategy?: string; concurrency?: number } = {}) => ({
  ...(more.concurrency && { concurrency: more.concurrency }),
  expectations: {
    watch: { strategy: more.strategy ?? "report", config: { prefix }, on: [{ event: "resource.moved" }] },
  },
});

onBothStores((bench) => {
  let envs = 0;
  /** An env of its own, with two nodes that know the strategies. */
  async function scene() {
    const env = `dynamic-${++envs}`;
    const nodes = [
      await bench.open({ env, programs: [], definitions: { strategies } }),
      await bench.open({ env, programs: [], definitions: { strategies } }),
    ] as const;
    const started = async (n: number) => {
      const { runs } = await nodes[1].emit(moved, { resource: "r", n });
      return runs.map(({ runId }) => nodes[1].run<string>(runId!));
    };
    /** A saved definition wakes every node; until then an event starts nothing, or the previous version. */
    const loaded = (version: number, enabled = true) =>
      Promise.all(nodes.map((node) => told(node, "definition.loaded", { version, enabled })));
    return { env, nodes, started, loaded, stop: () => Promise.all(nodes.map((node) => node.stop())) };
  }

  function told(node: Node, name: "definition.loaded" | "definition.refused", facts: object): Promise<void> {
    return new Promise((resolve) => {
      const off = node.on(name, (one) => {
        if (!Object.entries(facts).every(([key, value]) => (one as never)[key] === value)) return;
        off();
        resolve();
      });
    });
  }

  test("every node serves a saved definition, which can be changed without a restart", async () => {
    const { nodes, started, loaded, stop } = await scene();
    expect(await started(1)).toEqual([]);
    let loading = loaded(1);
    expect(await nodes[0].definitions.save("watcher", body("first"))).toBe(1);
    await loading;
    const [one] = await started(2);
    expect(await one!.result({ timeout: "10s" })).toBe("first 2");
    loading = loaded(2);
    expect(await nodes[0].definitions.save("watcher", body("second", { strategy: "moves" }), { over: 1 })).toBe(2);
    await loading;
    const [two] = await started(3);
    expect(await two!.result({ timeout: "10s" })).toBe("second 3");
    await expect(nodes[1].definitions.save("watcher", body("third"), { over: 1 })).rejects.toMatchObject({
      code: "DEFINITION_CONFLICT",
      version: 2,
    });
    await stop();
  });

  test("an episode keeps the definition it began with; a disabled definition starts nothing new", async () => {
    const { nodes, started, loaded, stop } = await scene();
    let loading = loaded(1);
    await nodes[0].definitions.save("watcher", body("old", { strategy: "slow" }));
    await loading;
    const [begun] = await started(1);
    await expect.poll(async () => (await begun!.status()).state, wait).toBe("parked");
    loading = loaded(2);
    await nodes[0].definitions.save("watcher", body("new", { strategy: "report" }));
    await loading;
    loading = loaded(2, false);
    expect(await nodes[0].definitions.disable("watcher")).toBe(true);
    await loading;
    await expect.poll(() => started(2), wait).toEqual([]);
    await expect(nodes[0].definitions.remove("watcher")).rejects.toMatchObject({ code: "DEFINITION_IN_USE" });
    await begun!.signal(go);
    expect(await begun!.result({ timeout: "10s" })).toBe("old 1");
    await nodes[0].definitions.remove("watcher");
    expect(await nodes[0].definitions.list()).toEqual([]);
    await stop();
  });

  test("a node ignores definitions whose strategy it lacks, and those that its own code defines", async () => {
    const { env, nodes, stop } = await scene();
    const own = actor("mine", { expectations: { watch: expectation(async () => "code") } });
    const other = await bench.open({ env, programs: [own], definitions: { strategies: {} } });
    const refused = told(other, "definition.refused", { name: "watcher" });
    const taken = told(other, "definition.refused", { name: "mine" });
    await nodes[0].definitions.save("watcher", body("x"));
    await nodes[0].definitions.save("mine", body("x"));
    await refused;
    await taken;
    expect(other.serves().map(({ program }) => program)).toEqual(["mine::watch"]);
    await other.stop();
    await stop();
  });

  test("a definition that no node could serve is rejected before it is saved, with the place of the mistake", async () => {
    const { nodes, stop } = await scene();
    const one = { strategy: "report" };
    const bad: [object, string][] = [
      [{}, "body.expectations"],
      [{ expectations: {} }, "expectations"],
      [{ expectations: { watch: {} } }, "body.expectations.watch.strategy"],
      [{ expectations: { watch: { ...one, colour: "red" } } }, "body.expectations.watch.colour"],
      [{ expectations: { watch: { ...one, on: [{ every: "soon" }] } } }, "body.expectations.watch.on[0].every"],
      [{ expectations: { watch: { ...one, on: [{}] } } }, "body.expectations.watch.on[0]"],
      [{ expectations: { watch: { ...one, budget: { turns: -1 } } } }, "expectations.watch.budget.turns"],
      [{ expectations: { watch: { ...one, recovery: "pray" } } }, "expectations.watch.recovery"],
      [{ concurrency: "many", expectations: { watch: one } }, "concurrency"],
      [{ strange: 1, expectations: { watch: one } }, "body.strange"],
    ];
    for (const [wrong, path] of bad) {
      await expect(nodes[0].definitions.save("watcher", wrong), path).rejects.toMatchObject({
        code: "INVALID_INPUT",
        path,
      });
    }
    expect(await nodes[0].definitions.list()).toEqual([]);
    await stop();
  });
});

// Stacks: which runs belong to a cluster, what another cluster may take over, and programs that only some stacks serve.

import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { createNode } from "../../src/node/create-node.js";
import type { NodeOptions } from "../../src/node/node-options.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";
import { mergeOptions } from "../harness/merge-options.js";
import { onBothStores, QUICK } from "../workflow/node-suite.js";

let n = 0;
const newEnv = () => `stacks-${process.pid}-${++n}`;

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

onBothStores((bench) => {
  const job = workflow("job", async () => "done");
  const open = (options: Partial<NodeOptions>) => bench.open({ programs: [job], ...options });
  const takerOf = async (id: string) => {
    const { deferred, state } = (await bench.store.runs.get(id))!;
    return { by: deferred?.by, takenBy: deferred?.takenBy, state };
  };

  test("a run belongs to the stack it was started in; one of no stack belongs to any", async () => {
    const env = newEnv();
    const blue = await open({ env, stack: "blue" });
    const inStack = (stack?: string) => createClient({ store: bench.store, env, ...(stack && { stack }) });
    const [mine, green, none] = [
      await inStack("blue").start(job),
      await inStack("green").start(job),
      await inStack().start(job),
    ];
    expect([await mine.result({ timeout: "10s" }), await none.result({ timeout: "10s" })]).toEqual(["done", "done"]);
    expect(await blue.runUntilIdle({ timeout: "5s" })).toMatchObject({ idle: true });
    expect(await green.status()).toMatchObject({ state: "waiting", noCapableNode: true, group: { stack: "green" } });
  });

  describe("takeDeferred", () => {
    for (const takeDeferred of ["all", "green", ["red", "green"]] as const) {
      test(`${JSON.stringify(takeDeferred)}: what a trigger_only node of another stack starts is worked on`, async () => {
        const env = newEnv();
        const asking = await open({ env, stack: "green", identity: { id: "asking" }, flow: { mode: "trigger_only" } });
        const taking = await open({ env, stack: "blue", identity: { id: "taking" }, flow: { takeDeferred } });
        const run = await asking.start(job);
        expect(await run.result({ timeout: "10s" })).toBe("done");
        expect(await takerOf(run.id)).toEqual({ by: "asking", takenBy: taking.incarnation, state: "completed" });
        expect((await run.status()).group.stack).toBe("green");
      });
    }

    test("a stack that is not named is left alone, and so is one with a node of its own that works", async () => {
      const env = newEnv();
      const taking = await open({ env, stack: "blue", flow: { takeDeferred: ["green"] } });
      const red = await open({ env, stack: "red", flow: { mode: "trigger_only" } });
      const green = await open({
        env,
        stack: "green",
        flow: { mode: "trigger_only" },
        timing: { housekeeping: "1s" },
      });
      const left = await red.start(job);
      expect(await (await green.start(job)).result({ timeout: "10s" })).toBe("done");
      // From now on green works for itself: nodes that opted in no longer take its runs.
      await green.mode.set("full");
      const groups = async () => (await taking.nodes.find(taking.identity)).claims.map(({ stack }) => stack);
      await until(async () => !(await groups()).includes("green"));
      const own = await green.start(job);
      expect(await own.result({ timeout: "10s" })).toBe("done");
      expect(await left.status()).toMatchObject({ state: "waiting" });
    });

    test("an override of the taker's own keeps it from taking", async () => {
      const env = newEnv();
      const asking = await open({ env, stack: "green", flow: { mode: "trigger_only" } });
      const taking = await open({ env, stack: "blue", flow: { takeDeferred: "all" } });
      await taking.mode.override(job, "trigger_only");
      const run = await asking.start(job);
      expect(await taking.runUntilIdle({ timeout: "5s" })).toEqual({ idle: true, worked: 0 });
      expect(await run.status()).toMatchObject({ state: "waiting", deferred: { takenBy: null } });
      await taking.mode.clearAllOverrides();
      expect(await run.result({ timeout: "10s" })).toBe("done");
    });

    test("with two nodes that take deferred runs, each run is executed once", async () => {
      const env = newEnv();
      const counted = new Map<string, number>();
      const counting = workflow("counting", async (ctx, id: string) => {
        await ctx.step("count", () => counted.set(id, (counted.get(id) ?? 0) + 1));
      });
      const asking = await open({ env, stack: "green", flow: { mode: "trigger_only" }, programs: [counting] });
      for (const identity of ["one", "two"])
        await open({
          env,
          stack: identity,
          identity: { id: identity },
          flow: { takeDeferred: "all" },
          programs: [counting],
        });
      const items = Array.from({ length: 40 }, (_, i) => ({ input: String(i) }));
      const started = await asking.startMany(counting, items);
      await Promise.all(started.map((one) => "run" in one && one.run.result({ timeout: "20s" })));
      expect([...counted.values()]).toEqual(items.map(() => 1));
    });
  });

  test("a deferred run that no node takes in time is cancelled, with the reason in its journal", async () => {
    const env = newEnv();
    const node = await open({ env, flow: { mode: "trigger_only", deferredExpiry: 50 } });
    const deferred = new Promise<object>((resolve) =>
      node.on("run.deferred", ({ runId, program, stack }) => resolve({ runId, program, stack })),
    );
    const run = await node.start(job);
    expect(await deferred).toEqual({ runId: run.id, program: "job", stack: null });
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(JSON.parse(entries.at(-1)!.payload!.data)).toMatchObject({ code: "DEFERRED_EXPIRED" });
  });

  describe("programs of some stacks", () => {
    const blueOnly = workflow("blue-only", { stacks: ["blue"] }, async () => "blue");

    test("only nodes of these stacks serve it; started elsewhere, it goes to one of them", async () => {
      const env = newEnv();
      const green = await bench.open({ programs: [blueOnly, job], env, stack: "green" });
      const run = await green.start(blueOnly);
      expect(await green.runUntilIdle({ timeout: "5s" })).toMatchObject({ worked: 0 });
      expect((await run.status()).group.stack).toBe(null);
      await bench.open({ programs: [blueOnly], env, stack: "blue" });
      expect(await run.result({ timeout: "10s" })).toBe("blue");
    });
  });
});

describe("what a node stores that it claims from contains what it takes of other stacks", () => {
  const job = workflow("job", async () => "done");
  type Slow = (store: Store, node: "blue" | "green") => Partial<Store>;

  /** A node of stack green that only starts runs, and one of stack blue that takes them, on a store that can be held up. */
  async function scene(slow: Slow) {
    const memory = memoryStore();
    const open = (name: "blue" | "green", options: Partial<NodeOptions>) =>
      createNode({
        store: { ...memory, ...slow(memory, name) },
        programs: [job],
        stack: name,
        identity: { id: name },
        ...mergeOptions(QUICK, options),
      });
    // It counts as alive for three of its heartbeats.
    const green = await open("green", { flow: { mode: "trigger_only" }, timing: { housekeeping: 1_000 } });
    const blue = await open("blue", { flow: { takeDeferred: "all" } });
    const takes = async () => (await green.nodes.find("blue")).claims.some(({ stack }) => stack === "green");
    return { green, blue, takes, stop: () => Promise.all([green.stop(), blue.stop()]) };
  }

  test("a group is stored before a run of it is taken", async () => {
    const [asked, stored] = [deferred<void>(), deferred<void>()];
    const { green, blue, takes, stop } = await scene(({ nodes }, node) => {
      const claimsFrom: typeof nodes.claimsFrom = async (...call) => {
        if (node === "blue") asked.resolve();
        if (node === "blue") await stored.promise;
        await nodes.claimsFrom(...call);
      };
      return { nodes: { ...nodes, claimsFrom } };
    });
    const run = await green.start(job);
    await asked.promise;
    await blue.runUntilIdle({ timeout: "5s" });
    expect([await takes(), (await run.status()).state]).toEqual([false, "waiting"]);
    stored.resolve();
    expect(await run.result({ timeout: "10s" })).toBe("done");
    expect(await takes()).toBe(true);
    await stop();
  });

  test("what a claim under way is granted after its group was given up is handed back", async () => {
    const [sent, blueClaims, greenClaims] = [deferred<void>(), deferred<void>(), deferred<void>()];
    let isHeld = false;
    const { green, blue, takes, stop } = await scene(({ runs }, node) => {
      const claim: typeof runs.claim = async (...call) => {
        if (isHeld && node === "blue") sent.resolve();
        if (isHeld) await (node === "blue" ? blueClaims : greenClaims).promise;
        return runs.claim(...call);
      };
      return { runs: { ...runs, claim } };
    });
    expect(await (await green.start(job)).result({ timeout: "10s" })).toBe("done");
    isHeld = true;
    await sent.promise;
    await green.mode.set("full");
    await until(async () => !(await takes()));
    const handedBack = new Promise<{ runId: string }>((resolve) => blue.on("run.handed_back", resolve));
    const run = await green.start(job);
    blueClaims.resolve();
    expect((await handedBack).runId).toBe(run.id);
    greenClaims.resolve();
    expect(await run.result({ timeout: "10s" })).toBe("done");
    await stop();
  });
});

test("the node that finds a deferred run overdue reports it", async () => {
  const job = workflow("job", async () => "done");
  const store = memoryStore();
  await using node = await createNode({
    store,
    programs: [job],
    flow: { mode: "trigger_only", deferredExpiry: 50 },
    ...QUICK,
  });
  const expired = new Promise((resolve) => node.on("run.expired", resolve));
  const run = await node.start(job);
  expect(await expired).toMatchObject({ runId: run.id, program: "job", stack: null, by: node.identity });
});

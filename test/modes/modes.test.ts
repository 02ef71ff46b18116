// Modes of a node: what it starts and what it works on, changed while it runs, by its own process and by others.

import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { NodeDisabled } from "../../src/engine/modes.js";
import type { NodeMode } from "../../src/kernel/node-mode.js";
import type { Node } from "../../src/node/create-node.js";
import type { NodeOptions } from "../../src/node/node-options.js";
import { event, on } from "../../src/trigger/event.js";
import { every } from "../../src/trigger/schedule.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";
import { mergeOptions } from "../harness/merge-options.js";
import { onBothStores } from "../workflow/node-suite.js";

const MODES: readonly NodeMode[] = ["full", "trigger_only", "disabled"];
let n = 0;
/** An env of its own for each test. */
const place = () => ({ env: `modes-${process.pid}-${++n}`, identity: { id: `host-${n}` } });

/** Waits until the condition holds; a test that waits in vain fails by its timeout. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

onBothStores((bench) => {
  const stateOf = async (runId: string) => (await bench.store.runs.get(runId))!.state;

  describe("the table of modes", () => {
    for (const mode of MODES) {
      test(`${mode}: started by a call, by an event, by a schedule; worked on`, async () => {
        const { env, identity } = place();
        const poked = event<{ n: number }>()("poked");
        const ticking = workflow("ticking", { on: [every("1s")] }, async () => {});
        const called = workflow("called", async () => {});
        const heard = workflow("heard", { on: [on(poked)] }, async () => {});
        const node = await bench.open({
          programs: [called, heard, ticking],
          env,
          identity,
          flow: { mode },
        });
        const started = await node.start(called).then(
          ({ id }) => id,
          (error) => error,
        );
        const emitted = (await node.emit(poked, { n: 1 })).runs.map(({ outcome }) => outcome);
        if (mode === "disabled") {
          expect(started).toBeInstanceOf(NodeDisabled);
          expect(emitted).toEqual([]);
          expect((await bench.store.schedules.list(env)).schedules).toEqual([]);
          expect(await bench.store.events.subscriptions(env)).toEqual([]);
          expect(await bench.store.runs.count({ env })).toEqual({});
          return;
        }
        expect(emitted).toEqual(["started"]);
        const ticks = async () => (await bench.store.runs.list({ env, program: "ticking" }, { limit: 9 })).runs.length;
        await until(async () => (await ticks()) > 0);
        const end = mode === "full" ? "completed" : "waiting";
        await until(async () => (await stateOf(started)) === end);
        const { runs } = await bench.store.runs.list({ env }, { limit: 9 });
        expect(runs.map(({ deferred: one }) => one?.by ?? null)).toEqual(
          runs.map(() => (mode === "full" ? null : identity.id)),
        );
        if (mode === "trigger_only") for (const { state } of runs) expect(state).toBe("waiting");
      });
    }
  });

  describe("live switching", () => {
    const job = workflow("job", async () => "done");
    const other = workflow("other", async () => "done");
    const open = (options: Partial<NodeOptions> = {}) =>
      bench.open({ programs: [job, other], ...mergeOptions(place(), options) });

    test("a node in trigger_only mode does not execute what it starts; set to full again, it does", async () => {
      const node = await open();
      expect(await node.mode.set("trigger_only")).toEqual({
        nodeMode: "trigger_only",
        overrides: {},
        drain: null,
        nodeIdentity: node.identity,
      });
      const run = await node.start(job);
      expect(await node.runUntilIdle({ timeout: "5s" })).toEqual({ idle: true, worked: 0 });
      expect(await run.status()).toMatchObject({ state: "waiting", noCapableNode: true });
      await node.mode.set("full");
      expect(await run.result({ timeout: "10s" })).toBe("done");
      expect((await run.status()).deferred).toMatchObject({ by: node.identity, takenBy: node.incarnation });
    });

    test("an override applies to one program and wins over the node's mode; cleared, the node's mode applies again", async () => {
      const node = await open({ flow: { mode: "trigger_only" } });
      await node.mode.override(job, "full");
      expect([node.mode.of(job), node.mode.of("other")]).toEqual(["full", "trigger_only"]);
      const left = await node.start(other);
      expect(await (await node.start(job)).result({ timeout: "10s" })).toBe("done");
      expect(await stateOf(left.id)).toBe("waiting");
      await node.mode.override(other, "disabled");
      await expect(node.start(other)).rejects.toThrow(NodeDisabled);
      expect(node.mode.status().overrides).toEqual({ job: "full", other: "disabled" });
      await node.mode.clearOverride("job");
      expect(node.mode.of(job)).toBe("trigger_only");
      await node.mode.clearAllOverrides();
      expect(node.mode.status().overrides).toEqual({});
      expect(await stateOf(left.id)).toBe("waiting");
    });

    test("a client sets the mode of any node by its name, and it acts within a second", async () => {
      const node = await open({ timing: { housekeeping: "1s" }, identity: { name: "the other" } });
      const client = createClient({ store: bench.store, env: node.env });
      const heard = new Promise<number>((resolve) => {
        const from = performance.now();
        node.on("mode.changed", () => resolve(performance.now() - from));
      });
      await client.nodes.setMode("the other", "trigger_only");
      expect(await heard).toBeLessThan(1_000);
      expect(node.mode.status().nodeMode).toBe("trigger_only");
      const [record] = await client.nodes.list();
      expect(record).toMatchObject({ mode: "trigger_only", overrides: {}, identity: node.identity });
      await until(async () => (await client.nodes.list())[0]!.claims.length === 0);
      await client.nodes.override(node.incarnation.slice(0, 10), job, "full");
      await until(() => node.mode.of(job) === "full");
      await until(async () => (await client.nodes.list())[0]!.claims.length > 0);
      await expect(client.nodes.setMode("nobody", "full")).rejects.toMatchObject({ code: "NODE_UNKNOWN" });
    });

    test("two live nodes with one name are distinguished", async () => {
      const { env } = place();
      const [a] = await Promise.all([
        open({ env, identity: { name: "twin" }, timing: { housekeeping: "1s" } }),
        open({ env, identity: { name: "twin", id: "second" }, timing: { housekeeping: "1s" } }),
      ]);
      const { nodes } = createClient({ store: bench.store, env });
      await expect(nodes.setMode("twin", "disabled")).rejects.toMatchObject({ code: "NODE_AMBIGUOUS" });
      await nodes.setMode(a.identity, "disabled");
      await until(() => a.mode.status().nodeMode === "disabled");
    });

    test("a mode set with keep survives a restart", async () => {
      const { env, identity } = place();
      const first = await open({ env, identity });
      await first.mode.override(other, "disabled", { keep: true });
      await first.mode.set("disabled");
      await first.stop();
      const second = await open({ env, identity });
      expect(second.mode.status()).toMatchObject({ nodeMode: "full", overrides: { other: "disabled" } });
      await second.mode.set("trigger_only", { keep: true });
      await second.stop();
      const third = await open({ env, identity, flow: { mode: "full" } });
      expect(third.mode.status()).toMatchObject({ nodeMode: "trigger_only", overrides: { other: "disabled" } });
      const run = await third.start(job);
      expect(await third.runUntilIdle({ timeout: "5s" })).toEqual({ idle: true, worked: 0 });
      expect(await stateOf(run.id)).toBe("waiting");
    });

    test("running runs continue when their node is disabled, children included", async () => {
      const began = deferred<void>();
      const go = deferred<void>();
      const child = workflow("child-of-disabled", async () => "child");
      const slow = workflow("slow", async (ctx) => {
        await ctx.step("first", async () => {
          began.resolve();
          await go.promise;
        });
        return ctx.child(child, undefined as never);
      });
      const { env } = place();
      const node = await bench.open({ programs: [slow], env });
      const run = await node.start(slow);
      await began.promise;
      await node.mode.set("disabled");
      go.resolve();
      await until(async () => (await stateOf(run.id)) === "parked");
      const helper = await bench.open({ programs: [child, slow], env });
      expect(await run.result({ timeout: "10s" })).toBe("child");
      await helper.stop();
    });

    test("a disabled node withdraws its subscriptions, and puts them back when it is enabled", async () => {
      const poked = event<{ n: number }>()("poked-again");
      const heard = workflow("heard-again", { on: [on(poked)] }, async () => {});
      const { env } = place();
      const node = await bench.open({ programs: [heard], env });
      const client = createClient({ store: bench.store, env });
      expect((await client.emit(poked, { n: 1 })).runs.length).toBe(1);
      await node.mode.override(heard, "disabled");
      await until(async () => (await bench.store.events.subscriptions(env)).length === 0);
      expect((await client.emit(poked, { n: 2 })).runs).toEqual([]);
      await node.mode.clearOverride(heard);
      await until(async () => (await bench.store.events.subscriptions(env)).length > 0);
      expect((await client.emit(poked, { n: 3 })).runs.length).toBe(1);
    });

    test("an event emitted by a node with the program disabled starts the run on another node", async () => {
      const poked = event<{ n: number }>()("poked-elsewhere");
      const heard = workflow("heard-elsewhere", { on: [on(poked)] }, async () => "there");
      const { env } = place();
      const here = await bench.open({ programs: [heard], env, identity: { id: "here" } });
      const there = await bench.open({ programs: [heard], env, identity: { id: "there" } });
      await here.mode.override(heard, "disabled");
      const { runs } = await here.emit(poked, { n: 1 });
      expect(runs.length).toBe(1);
      const record = async () => (await bench.store.runs.get(runs[0]!.runId!))!;
      await until(async () => (await record()).state === "completed");
      expect((await record()).deferred).toBe(null);
      await there.stop();
    });

    test("runs claimed ahead that have not begun are handed back, at no cost", async () => {
      const began = deferred<void>();
      const go = deferred<void>();
      const held = workflow("held", async (ctx) => {
        await ctx.step("only", async () => {
          began.resolve();
          await go.promise;
        });
      });
      const node = await bench.open({ programs: [held], ...place(), concurrency: 1, flow: { prefetch: 1 } });
      const runs = [await node.start(held), await node.start(held)];
      await began.promise;
      await until(() => node.active === 2);
      await node.mode.set("trigger_only");
      await until(() => node.active === 1);
      const states = await Promise.all(runs.map(({ id }) => stateOf(id)));
      expect(states.sort()).toEqual(["running", "waiting"]);
      go.resolve();
      await until(() => node.active === 0);
      const records = await Promise.all(runs.map(async ({ id }) => (await bench.store.runs.get(id))!));
      expect(records.map(({ crashes, failures }) => crashes + failures)).toEqual([0, 0]);
    });
  });

  describe("drain", () => {
    const stepwise = (began: () => void, go: Promise<void>) =>
      workflow("stepwise", async (ctx) => {
        await ctx.step("first", async () => {
          began();
          await go;
        });
        await ctx.step("second", () => {});
        return "whole";
      });

    test("a drained node finishes its step, hands the run back, stays up, and continues when it is resumed", async () => {
      const began = deferred<void>();
      const go = deferred<void>();
      const program = stepwise(began.resolve, go.promise);
      const node = await bench.open({ programs: [program], ...place() });
      const drained = new Promise<number>((resolve) => node.on("node.drained", ({ left }) => resolve(left)));
      const run = await node.start(program);
      await began.promise;
      const client = createClient({ store: bench.store, env: node.env });
      await client.nodes.drain(node.identity);
      await until(() => node.mode.status().drain === "stay");
      expect(await stateOf(run.id)).toBe("running");
      go.resolve();
      expect(await drained).toBe(0);
      expect(await run.status()).toMatchObject({ state: "waiting", crashes: 0, noCapableNode: true });
      expect(await stateOf((await node.start(program)).id)).toBe("waiting");
      await node.mode.set("full");
      expect(await run.result({ timeout: "10s" })).toBe("whole");
    });

    test("a node that drains to exit stops, and its runs continue on another node", async () => {
      const began = deferred<void>();
      const go = deferred<void>();
      const program = stepwise(began.resolve, go.promise);
      const { env } = place();
      // Without signals it only stops, because its process is the test's. A real one exits in deploy.test.ts.
      const node = await bench.open({ programs: [program], env, identity: { id: "leaving" }, signals: false });
      const stopped = new Promise<void>((resolve) => node.on("node.stopped", () => resolve()));
      const run = await node.start(program);
      await began.promise;
      await node.nodes.drain("leaving", { exit: true });
      go.resolve();
      await stopped;
      const next: Node = await bench.open({ programs: [program], env, identity: { id: "staying" } });
      expect(await run.result({ timeout: "10s" })).toBe("whole");
      expect(await run.status()).toMatchObject({ recoveries: 0, failures: 0 });
      await next.stop();
    });
  });
});

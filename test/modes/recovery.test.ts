// Reclaiming by `holdfast/compat`: what decides on an orphan, in which scope, and which runs are never orphans.

import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type RecoveryEvents, recovery } from "../../src/compat/recovery.js";
import type { Recovery } from "../../src/kernel/run/recovery.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { Node } from "../../src/node/create-node.js";
import { createBus } from "../../src/telemetry/bus.js";
import { workflow } from "../../src/workflow/workflow.js";
import { group, newRun } from "../store/scene.js";
import { onBothStores, QUICK } from "../workflow/node-suite.js";

let n = 0;
const newEnv = () => `recovery-${process.pid}-${++n}`;

interface Place {
  readonly env: string;
  readonly program?: string;
  readonly stack?: string | null;
  readonly leaseMs?: number;
  readonly declared?: Recovery;
}

onBothStores((bench) => {
  /** A run whose holder has died, and how it is afterwards. */
  async function orphan({ env, program = "work", stack = null, leaseMs = 0, declared }: Place) {
    const of = { ...group("q"), env, program, stack };
    const run = newRun({ group: of });
    const groupIds = await bench.store.runs.groupIds([of]);
    if (declared) {
      const who = { incarnation: randomUUID(), identity: "i", name: "n", env, stack, build: null, serves: groupIds };
      await bench.store.nodes.register(who);
      await bench.store.runs.declare(who.incarnation, [{ group: of, limits: [], recovery: declared }]);
    }
    await bench.store.runs.insert([run]);
    await bench.store.runs.claim({ owner: randomUUID(), token: randomUUID(), groupIds, limit: 1, leaseMs });
    const record = async () => (await bench.store.runs.get(run.id))!;
    return { id: run.id, state: async () => (await record()).state, record };
  }

  /** An earlier incarnation of an identity that holds a run, and died. */
  async function lastLife(env: string, identity: string) {
    const incarnation = randomUUID();
    const who = { incarnation, identity, name: identity, env, stack: null, build: null, leaseMs: 600_000 };
    const of = { ...group("q"), env, program: "work" };
    const run = newRun({ group: of, recovery: "fail" });
    await bench.store.runs.insert([run]);
    const groupIds = await bench.store.runs.groupIds([of]);
    await bench.store.nodes.register(who);
    const attendance = await bench.store.attend({ incarnation, onWake: () => {} });
    await bench.store.runs.claim({ owner: incarnation, token: randomUUID(), groupIds, limit: 1, leaseMs: 600_000 });
    await attendance.leave();
    await new Promise((resolve) => setTimeout(resolve, 100));
    return { id: run.id, record: async () => (await bench.store.runs.get(run.id))! };
  }

  /** Subscribed before the node starts. */
  async function start(env: string, identity: string, reclaimer: "every" | "off") {
    const options = {
      store: bench.store,
      programs: [],
      ...QUICK,
      env,
      identity: { id: identity },
      recovery: { reclaim: reclaimer },
    };
    const node = new Node(options, systemWorld());
    const told: unknown[] = [];
    node.on("run.reclaimed", ({ runId, outcome }) => told.push({ runId, outcome }));
    node.on("recovery.sweep", ({ restarted, failed, skipped }) => told.push({ restarted, failed, skipped }));
    await node.open();
    return { node, told };
  }

  describe("a start under the identity of a process that died", () => {
    test("applies the declared policy at once, and reports a reclaim like every other", async () => {
      const [env, identity] = [newEnv(), randomUUID()];
      const run = await lastLife(env, identity);
      const { node, told } = await start(env, identity, "every");
      expect(await run.record()).toMatchObject({ state: "failed" });
      expect(told).toEqual([
        { runId: run.id, outcome: "failed" },
        { restarted: 0, failed: 1, skipped: 0 },
      ]);
      await node.stop();
    });

    test("with the reclaimer off leaves its runs to the callback, which finds them at once", async () => {
      const [env, identity] = [newEnv(), randomUUID()];
      const run = await lastLife(env, identity);
      const { node, told } = await start(env, identity, "off");
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(await run.record()).toMatchObject({ state: "running", epoch: 1 });
      expect(told).toEqual([]);
      const asked: string[] = [];
      const bus = createBus<RecoveryEvents>();
      const swept: unknown[] = [];
      bus.on("recovery.sweep", ({ restarted, failed }) => swept.push({ restarted, failed }));
      await recovery({ store: bench.store, env, bus }).sweep({
        resolvePolicy: ({ runId }) => {
          asked.push(runId);
          return "restart";
        },
      });
      expect(asked).toEqual([run.id]);
      expect(await run.record()).toMatchObject({ state: "waiting", generation: 1 });
      expect(swept).toEqual([{ restarted: 1, failed: 0 }]);
      await node.stop();
    });
  });

  describe("the decision on an orphan", () => {
    test("comes from the callback, then the code, then the declarations of nodes; without any the run is left alone", async () => {
      const env = newEnv();
      const asked = await orphan({ env, program: "asked", declared: "resume" });
      const inCode = await orphan({ env, program: "in-code", declared: "resume" });
      const ofActor = await orphan({ env, program: "monitor::check", declared: "resume" });
      const inStore = await orphan({ env, program: "in-store", declared: "fail" });
      const unknown = await orphan({ env, program: "unknown" });
      const code = workflow("in-code", { recovery: "fail" }, async () => {});
      const monitor = { expectations: { check: { recovery: "fail" } } } as const;
      const result = await recovery({ store: bench.store, env }).sweep({
        actorRegistry: { "in-code": code, asked: code, monitor },
        resolvePolicy: ({ group: { program } }) => (program === "asked" ? "restart" : undefined),
      });
      expect(result).toEqual({ restarted: 1, failed: 3, skipped: 1 });
      expect(await asked.record()).toMatchObject({ state: "waiting", generation: 1 });
      const ended = [await inCode.state(), await ofActor.state(), await inStore.state()];
      expect(ended).toEqual(["failed", "failed", "failed"]);
      expect(await unknown.state()).toBe("running");
    });

    test("a callback that throws, or returns an invalid policy, leaves its run alone, and the others are decided", async () => {
      const env = newEnv();
      const bad = await orphan({ env, program: "bad", declared: "fail" });
      const odd = await orphan({ env, program: "odd", declared: "fail" });
      const good = await orphan({ env, program: "good" });
      const bus = createBus<RecoveryEvents>();
      const told: string[] = [];
      bus.on("recovery.policy_failed", ({ runId }) => told.push(runId));
      const swept: object[] = [];
      bus.on("recovery.sweep", ({ restarted, failed, skipped, staleAfterMs }) =>
        swept.push({ restarted, failed, skipped, staleAfterMs }),
      );
      const resolvePolicy = ({ group: { program } }: { group: { program: string } }): Recovery => {
        if (program === "bad") throw new Error("the database is away");
        return program === "odd" ? ("explode" as never) : "resume";
      };
      const result = await recovery({ store: bench.store, env, bus }).sweep({ resolvePolicy });
      expect(result).toEqual({ restarted: 1, failed: 0, skipped: 2 });
      expect(swept).toEqual([{ ...result, staleAfterMs: 0 }]);
      expect(told.sort()).toEqual([bad.id, odd.id].sort());
      expect([await bad.state(), await odd.state(), await good.state()]).toEqual(["running", "running", "waiting"]);
    });
  });

  describe("a run that is never an orphan", () => {
    test("has a long quiet step, is queued, or is deferred", async () => {
      const env = newEnv();
      const quiet = await orphan({ env, leaseMs: 60_000 });
      const queued = newRun({ group: { ...group("q"), env } });
      const deferred = newRun({ group: { ...group("q"), env }, deferred: { by: "me", expiresInMs: null } });
      await bench.store.runs.insert([queued, deferred]);
      const calls = recovery({ store: bench.store, env });
      expect(await calls.sweep({ resolvePolicy: () => "fail" })).toEqual({ restarted: 0, failed: 0, skipped: 0 });
      expect(await quiet.state()).toBe("running");
      for (const { id } of [queued, deferred]) expect((await bench.store.runs.get(id))!.state).toBe("waiting");
    });

    test("has a lease that expired less than the given time ago", async () => {
      const env = newEnv();
      const run = await orphan({ env });
      const { sweep } = recovery({ store: bench.store, env });
      expect(await sweep({ staleAfterMs: 60_000, resolvePolicy: () => "fail" })).toMatchObject({ failed: 0 });
      expect(await run.state()).toBe("running");
    });
  });

  describe("scope", () => {
    const all = { resolvePolicy: () => "resume" as const };

    test("is the node's own stack and runs of no stack; another stack can be named; null means all", async () => {
      const env = newEnv();
      const blue = await orphan({ env, stack: "blue" });
      const green = await orphan({ env, stack: "green" });
      const none = await orphan({ env });
      const { sweep } = recovery({ store: bench.store, env, stack: "blue" });
      expect(await sweep(all)).toEqual({ restarted: 2, failed: 0, skipped: 0 });
      expect([await blue.state(), await green.state(), await none.state()]).toEqual(["waiting", "running", "waiting"]);
      expect(await sweep({ ...all, sourceStack: "green" })).toMatchObject({ restarted: 1 });
      const red = await orphan({ env, stack: "red" });
      expect(await sweep({ ...all, sourceStack: null })).toMatchObject({ restarted: 1 });
      expect(await red.state()).toBe("waiting");
    });

    test("is not filtered for a node without a stack", async () => {
      const env = newEnv();
      await orphan({ env, stack: "blue" });
      expect(await recovery({ store: bench.store, env }).sweep(all)).toMatchObject({ restarted: 1 });
    });

    test("is the node's env, unless another is named", async () => {
      const [env, other] = [newEnv(), newEnv()];
      const run = await orphan({ env: other });
      const { sweep } = recovery({ store: bench.store, env });
      expect(await sweep(all)).toEqual({ restarted: 0, failed: 0, skipped: 0 });
      expect(await run.state()).toBe("running");
      expect(await sweep({ ...all, sourceEnv: other })).toMatchObject({ restarted: 1 });
    });
  });

  test("of two reclaims of one orphan, one acts", async () => {
    const env = newEnv();
    const run = await orphan({ env });
    const { sweep } = recovery({ store: bench.store, env });
    const all = await Promise.all([1, 2, 3, 4].map(() => sweep({ resolvePolicy: () => "restart" })));
    expect(all.reduce((sum, { restarted }) => sum + restarted, 0)).toBe(1);
    expect(await run.record()).toMatchObject({ generation: 1, recoveries: 1 });
  });

  test("more orphans than a page are all decided on", async () => {
    const env = newEnv();
    const runs = Array.from({ length: 450 }, () => newRun({ group: { ...group("q"), env } }));
    await bench.store.runs.insert(runs);
    const groupIds = await bench.store.runs.groupIds([runs[0]!.group]);
    await new Promise((resolve) => setTimeout(resolve, 5)); // runs of one batch are microseconds apart
    await bench.store.runs.claim({ owner: randomUUID(), token: randomUUID(), groupIds, limit: 450, leaseMs: 0 });
    const { sweep } = recovery({ store: bench.store, env });
    expect(await sweep({ resolvePolicy: () => "fail" })).toEqual({ restarted: 0, failed: 450, skipped: 0 });
  });

  test("a run that fails as orphaned wakes the callers that wait for its result", async () => {
    const env = newEnv();
    const run = await orphan({ env, program: "doomed", declared: "fail" });
    const node = await bench.open({ programs: [], env, recovery: { reclaim: "off" } });
    await recovery({ store: bench.store, env }).sweep();
    await expect(node.run(run.id).result({ timeout: "5s" })).rejects.toMatchObject({
      state: "failed",
      cause: { code: "ORPHANED" },
    });
    await node.stop();
  });

  test("reconcile returns what it found, in its scope", async () => {
    const calls = recovery({ store: bench.store, env: newEnv(), stack: "blue" });
    expect(await calls.reconcileWorkflows()).toEqual({ replayed: 0, skipped: 0 });
  });
});

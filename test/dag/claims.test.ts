// Tasks and claims, on both stores: writes after a lost claim, two reclaims at once, code that no node has, code that changed,
// nodes that stop, and slots.

import { randomUUID } from "node:crypto";
import { expect, test, vi } from "vitest";
import { dag } from "../../src/dag/dag.js";
import { each, task } from "../../src/dag/task.js";
import type { Effect } from "../../src/kernel/run/effect.js";
import type { AnyDefinition } from "../../src/program/definition.js";
import type { ClaimedRun } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import { deferred } from "../harness/deferred.js";
import { commitOf, group, json, newRun, park } from "../store/scene.js";
import { onBothStores } from "../workflow/node-suite.js";

const output = (by: string): Effect => ({ kind: "complete", output: json(by) });

async function claim(store: Store, queue: string, leaseMs: number, owner: string): Promise<ClaimedRun> {
  const groupIds = await store.runs.groupIds([group(queue)]);
  await new Promise((resolve) => setTimeout(resolve, 3));
  const [claimed] = await store.runs.claim({ owner, token: randomUUID(), groupIds, limit: 1, leaseMs });
  return claimed!;
}

/** A parent with a task and one that needs it; the task was claimed, its lease expired, and it was claimed again. */
async function stolen(store: Store, sameOwner: boolean) {
  const [queue, tasks] = [`p-${randomUUID()}`, `t-${randomUUID()}`];
  const owner = randomUUID();
  await store.runs.insert([newRun({ group: group(queue) })]);
  const parent = await claim(store, queue, 60_000, owner);
  const [first, second] = [newRun({ group: group(tasks) }), newRun({ group: group(tasks) })];
  const start = (run: typeof first, needs: string[]): Effect => ({ kind: "enqueue", name: "t", run, task: { needs } });
  const waits = park({ forTasks: true, wakeAfter: 1000 });
  await store.runs.commit([commitOf(parent, start(first, []), start(second, [first.id]), waits)]);
  const late = await claim(store, tasks, 0, owner);
  await store.runs.reclaimExpired({ env: "test", limit: 1000 });
  const live = await claim(store, tasks, 60_000, sameOwner ? owner : randomUUID());
  return { parent: parent.runId, late, live, behind: second.id };
}

onBothStores(
  (bench) => {
    for (const sameOwner of [false, true]) {
      const who = sameOwner ? "the same runner, which claimed it again" : "another runner";
      test(`nothing is stored and no task becomes ready, whatever a node tries that lost its task to ${who}`, async () => {
        const { store } = bench;
        const { parent, late, live, behind } = await stolen(store, sameOwner);
        expect(late.runId).toBe(live.runId);
        const reason = json("late");
        const tries: Effect[] = [
          output("late"),
          { kind: "fail", as: "failed", reason },
          { kind: "fail", as: "skipped", reason },
          { kind: "retry", delayMs: 0, error: reason },
          { kind: "handBack" },
          park(),
        ];
        for (const effect of tries) {
          expect((await store.runs.commit([commitOf(late, effect)]))[0]).toEqual({ outcome: "lost" });
        }
        expect(await store.runs.renew([late], 60_000)).toEqual([{ outcome: "lost" }]);
        expect(await store.runs.get(live.runId)).toMatchObject({ state: "running", epoch: live.epoch });
        expect(await store.runs.get(behind)).toMatchObject({ state: "blocked", pending: 1 });
        // Both in one batch, the late one first.
        const answers = await store.runs.commit([commitOf(late, output("late")), commitOf(live, output("live"))]);
        expect(answers.map(({ outcome }) => outcome)).toEqual(["lost", "accepted"]);
        const [end] = await store.journal.peek([{ runId: live.runId, what: "end" }]);
        expect(end!.entry!.payload).toEqual(json("live"));
        expect(await store.runs.get(behind)).toMatchObject({ state: "waiting", pending: 0 });
        expect(await store.runs.get(parent)).toMatchObject({ state: "parked", pending: 1 });
      });
    }

    test("two nodes reclaim the same dead task: it ends once and counts once", async () => {
      const { store } = bench;
      const [queue, tasks] = [`p-${randomUUID()}`, `t-${randomUUID()}`];
      await store.runs.insert([newRun({ group: group(queue) })]);
      const parent = await claim(store, queue, 60_000, randomUUID());
      const runs = [1, 2].map(() => newRun({ group: group(tasks), crashLimit: 1 }));
      const starts = runs.map((run): Effect => ({ kind: "enqueue", name: run.id, run, task: { needs: [] } }));
      await store.runs.commit([commitOf(parent, ...starts, park({ forTasks: true, wakeAfter: 1000 }))]);
      await claim(store, tasks, 0, randomUUID());
      const swept = await Promise.all([1, 2].map(() => store.runs.reclaimExpired({ env: "test", limit: 1000 })));
      expect(swept.flat().filter(({ runId }) => runs.some(({ id }) => id === runId))).toHaveLength(1);
      expect(await store.runs.get(parent.runId)).toMatchObject({ state: "parked", pending: 1 });
    });

    test("a task whose code no node has waits and is marked so; a node that has the code continues", async () => {
      const first = task(async () => "first");
      const second = task({ needs: { first } }, async (_ctx, { first }) => `${first} second`);
      const split = dag("split", { first, second });
      const half: AnyDefinition = {
        ...split,
        serve: (environment) => split.serve(environment).filter(({ name }) => name !== "split::second"),
      };
      const node = await bench.open({ programs: [half] });
      const run = await node.start(split);
      const waiting = await vi.waitFor(async () => {
        const { entries } = (await bench.store.journal.read(run.id))!;
        const { key } = entries.find(({ kind, name }) => kind === "task" && name === "second")!;
        const status = await node.run(key!).status();
        expect(status).toMatchObject({ state: "waiting", noCapableNode: true });
        return key!;
      }, 20_000);
      expect((await bench.store.runs.get(waiting))!.failures).toBe(0);
      await bench.open({ programs: [split] });
      expect((await run.result()).second).toBe("first second");
    });

    test("a run keeps the shape it began with when the code changes", async () => {
      const [begun, gate] = [deferred<void>(), deferred<void>()];
      const held = task(async () => {
        begun.resolve();
        await gate.promise;
        return "old";
      });
      const old = dag("shape", { held });
      const first = await bench.open({ programs: [old] });
      const run = await first.start(old);
      await begun.promise;
      const stopped = first.stop({ grace: "10s" });
      const added = task(async () => "new");
      const now = dag("shape", { held: task(async () => "new"), added });
      const second = await bench.open({ programs: [now] });
      gate.resolve();
      await stopped;
      expect(await run.result()).toEqual({ held: "old" });
      expect(await (await second.start(now)).result()).toEqual({ held: "new", added: "new" });
    });

    test("a node that stops waits for a task outside of steps, then aborts it; another node then begins it as the same attempt", async () => {
      const log: string[] = [];
      const begun = deferred<void>();
      const work = task({ retry: 1 }, async (ctx) => {
        log.push(`begins ${ctx.attempt}`);
        if (log.length > 1) return "done";
        begun.resolve();
        await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        await new Promise((resolve) => setTimeout(resolve, 100));
        log.push("ends");
        throw new Error("aborted");
      });
      const moved = dag("moved", { work });
      const first = await bench.open({ programs: [moved] });
      const run = await first.start(moved);
      await begun.promise;
      await bench.open({ programs: [moved] });
      await first.stop({ grace: 50 });
      expect(await run.result()).toEqual({ work: "done" });
      expect(log).toEqual(["begins 1", "ends", "begins 1"]);
    });

    test("nodes claim no more tasks than they have slots, and every node gets some", async () => {
      const most: Record<string, number> = {};
      const items = each({ over: () => Array.from({ length: 48 }, (_, i) => i) }, async () => {
        await new Promise((resolve) => setTimeout(resolve, 10));
      });
      const many = dag("many", { items });
      const nodes = await Promise.all(
        ["a", "b"].map(async (name) => {
          const node = await bench.open({
            programs: [many],
            concurrency: 4,
            flow: { prefetch: 0 },
            identity: { name },
          });
          node.on("run.claimed", () => {
            most[name] = Math.max(most[name] ?? 0, node.active);
          });
          return node;
        }),
      );
      await (await nodes[0]!.start(many)).result();
      expect(Object.keys(most).sort()).toEqual(["a", "b"]);
      for (const active of Object.values(most)) expect(active).toBeLessThanOrEqual(4);
    });
  },
  { perTest: true },
);

// The workflow queue on both stores: enqueue and dequeue.

import { describe, expect, test } from "vitest";
import { type Bench, onBothStores } from "./bench.js";
import { start, take } from "./queue-scene.js";

onBothStores((open) => {
  enqueueing(open);
  claiming(open);
});

function enqueueing(open: () => Bench) {
  describe("enqueue", () => {
    test("returns the id of a waiting job, with the defaults", async () => {
      const queue = open().queue();
      const id = await queue.enqueue({ ...start, runId: "r-1", graphId: "my-graph-id", initialState: { goal: "x" } });
      expect(await queue.getJob(id)).toEqual({
        id,
        type: "start",
        runId: "r-1",
        graphId: "my-graph-id",
        tenantId: null,
        initialState: { goal: "x" },
        humanResponse: undefined,
        priority: 0,
        maxAttempts: 3,
        attempt: 0,
        visibilityTimeoutMs: 300_000,
        status: "waiting",
        workerId: null,
        claimEpoch: null,
        createdAt: expect.any(Number),
        visibleAt: expect.any(Number),
        lastError: null,
      });
    });

    test("a start without a run id is its own run", async () => {
      const queue = open().queue();
      const id = await queue.enqueue(start);
      expect(await queue.getJob(id)).toMatchObject({ runId: id, graphId: null });
    });

    test("a job enqueued in the caller's transaction exists when that commits", async () => {
      const bench = open();
      const queue = bench.queue();
      await bench.transaction((tx) => queue.enqueue(start, { tx }), "rollback");
      expect(await queue.dequeue("w1")).toBeNull();
      let id = "";
      await bench.transaction(async (tx) => {
        id = await queue.enqueue(start, { tx });
        expect(await queue.getJob(id)).toBeNull();
      }, "commit");
      expect((await take(queue)).id).toBe(id);
    });

    test("rejects unknown options, and names the right spelling of snake case ones", async () => {
      const queue = open().queue();
      const refused = (input: object) => expect(queue.enqueue(input as typeof start)).rejects;
      await refused({ ...start, max_attempts: 5 }).toMatchObject({ code: "INVALID_INPUT", path: "max_attempts" });
      await refused({ ...start, max_attempts: 5 }).toThrow("write maxAttempts");
      await refused({ ...start, delay: 5 }).toThrow("the fields are");
      await refused({ type: "stop" }).toMatchObject({ path: "type" });
      await refused({ type: "resume" }).toMatchObject({ path: "runId" });
      await refused({ ...start, runId: "" }).toMatchObject({ path: "runId" });
      await refused({ ...start, maxAttempts: 0 }).toMatchObject({ path: "maxAttempts" });
      await refused({ ...start, priority: 0.5 }).toMatchObject({ path: "priority" });
      await refused({ ...start, visibilityTimeoutMs: 0 }).toMatchObject({ path: "visibilityTimeoutMs" });
      expect(await queue.getQueueDepth()).toEqual({ waiting: 0, active: 0, paused: 0, dead_letter: 0 });
    });

    test("queues with other names or environments are separate", async () => {
      const bench = open();
      const id = await bench.queue().enqueue(start);
      for (const options of [{ queue: "other" }, { program: "other" }, { env: "other" }, { stack: "blue" }]) {
        const other = bench.queue(options);
        expect(await other.dequeue("w1")).toBeNull();
        expect(await other.getJob(id)).toBeNull();
        expect((await other.getQueueDepth()).waiting).toBe(0);
      }
    });
  });
}

function claiming(open: () => Bench) {
  describe("dequeue", () => {
    test("an empty queue returns null", async () => {
      expect(await open().queue().dequeue("w1")).toBeNull();
    });

    test("the lowest priority number is first, then the oldest job", async () => {
      const bench = open();
      const queue = bench.queue();
      const ids: string[] = [];
      for (const priority of [5, 0, -1, 0]) {
        ids.push(await queue.enqueue({ ...start, priority }));
        await bench.pass(1);
      }
      const got = [await take(queue), await take(queue), await take(queue), await take(queue)];
      expect(got.map(({ id }) => id)).toEqual([ids[2], ids[1], ids[3], ids[0]]);
    });

    test("the job is active, with its worker, attempt, epoch and time", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue({ ...start, graphId: "g", initialState: [1] });
      const job = await take(queue, "worker one");
      expect(job).toMatchObject({ id, runId: id, graphId: "g", initialState: [1], status: "active", attempt: 1 });
      expect(job).toMatchObject({ workerId: "worker one", claimEpoch: 1 });
      const seen = await bench.queue().getJob(id);
      expect(seen).toMatchObject({ status: "active", workerId: "worker one", attempt: 1, claimEpoch: 1 });
      expect(seen?.visibleAt).toBe(job.claimedAt + 300_000);
    });

    test("many workers of several processes get each job once", async () => {
      const bench = open();
      const queues = [bench.queue(), bench.queue(), bench.queue()];
      const ids = await Promise.all(Array.from({ length: 20 }, () => queues[0]!.enqueue(start)));
      await bench.pass(1);
      const got = await Promise.all(Array.from({ length: 30 }, (_, i) => queues[i % 3]!.dequeue(`w${i}`)));
      const taken = got.filter((job) => job !== null).map(({ id }) => id);
      expect(new Set(taken).size).toBe(taken.length);
      // A claim skips rows locked by another claim; the next one finds them.
      for (let job = await queues[0]!.dequeue("w"); job; job = await queues[0]!.dequeue("w")) taken.push(job.id);
      expect(taken.sort()).toEqual(ids.sort());
    });

    test("an unknown graph does not stop the queue", async () => {
      const bench = open();
      const queue = bench.queue();
      const unknown = await queue.enqueue({ ...start, graphId: "no such graph" });
      await bench.pass(1);
      const next = await queue.enqueue(start);
      expect((await take(queue)).id).toBe(unknown);
      expect((await take(queue)).id).toBe(next);
    });

    test("a job that cannot be read is retried and dead-lettered, and the jobs after it are processed", async () => {
      const bench = open();
      const queue = bench.queue({ retryBackoffMs: 0 });
      const id = bench.world.id();
      const group = { env: bench.env, stack: null, queue: "workflow-jobs", program: "workflow-job", version: null };
      const input = { codec: "json", data: '{"not":"a job"}' };
      await bench.store.runs.insert([{ id, group, priority: -1, delayMs: 0, crashLimit: 2, input }]);
      const good = await queue.enqueue(start);
      const dead: unknown[] = [];
      const job = await queue.dequeue("w1", { onDeadLetter: (letter) => dead.push(letter) });
      expect(job?.id).toBe(good);
      expect(dead).toEqual([{ jobId: id, runId: id, error: expect.stringContaining("a job of the workflow queue") }]);
      expect((await queue.getQueueDepth()).dead_letter).toBe(1);
    });
  });
}

// The workflow queue on both stores: visibility timeouts, release and resume.

import { describe, expect, test } from "vitest";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { deferred } from "../harness/deferred.js";
import { type Bench, onBothStores } from "./bench.js";
import { start, statusOf, take } from "./queue-scene.js";

onBothStores((open) => {
  expiring(open);
  pausing(open);
});

function expiring(open: () => Bench) {
  describe("visibility timeout", () => {
    test("a heartbeat extends by the job's timeout, or by its argument", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      const { claimedAt } = await take(queue);
      await bench.pass(299_999);
      expect(await queue.heartbeat(id)).toEqual({ ok: true });
      expect((await queue.getJob(id))?.visibleAt).toBe(claimedAt + 599_999);
      expect(await queue.heartbeat(id, 5_000, "w1")).toEqual({ ok: true });
      expect((await queue.getJob(id))?.visibleAt).toBe(claimedAt + 304_999);
      expect(await queue.reclaimExpired()).toBe(0);
      await expect(queue.heartbeat(id, 0)).rejects.toMatchObject({ path: "extendMs" });
    });

    test("an abandoned job is waiting again, in its old place, and the attempt counts", async () => {
      const bench = open();
      const [dead, alive] = [bench.queue(), bench.queue()];
      const id = await dead.enqueue(start);
      await take(dead, "w1");
      await bench.pass(1);
      await alive.enqueue(start);
      await bench.pass(299_999);
      expect(await alive.reclaimExpired()).toBe(1);
      expect(await alive.reclaimExpired()).toBe(0);
      expect(await alive.getJob(id)).toMatchObject({ status: "waiting", workerId: null, attempt: 1 });
      expect(await take(alive, "w2")).toMatchObject({ id, attempt: 2, claimEpoch: 2 });
    });

    test("the late worker learns that it lost, and can write nothing", async () => {
      const bench = open();
      const [slow, quick] = [bench.queue(), bench.queue()];
      const id = await slow.enqueue(start);
      const job = await take(slow, "w1");
      await bench.pass(300_000);
      await quick.reclaimExpired();
      await take(quick, "w2");
      expect(await slow.heartbeat(job)).toEqual({ ok: false, reason: "lost" });
      for (const ref of [id, job]) {
        expect(await slow.ack(ref)).toBe(false);
        expect(await slow.nack(ref, "x")).toBe(false);
      }
      expect(await slow.getJob(id)).toMatchObject({ status: "active", workerId: "w2", attempt: 2 });
      expect(await quick.ack(id)).toBe(true);
    });

    test("a late ack of a job that was not reclaimed counts", async () => {
      const bench = open();
      const queue = bench.queue();
      await queue.enqueue(start);
      const job = await take(queue);
      await bench.pass(400_000);
      expect(await queue.ack(job)).toBe(true);
    });

    test("two claims of one job by the same worker are two claims", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      const first = await take(queue, "w1");
      await bench.pass(300_000);
      await queue.reclaimExpired();
      const second = await take(queue, "w1");
      expect(await queue.ack(first, "w1")).toBe(false);
      expect(await queue.nack(first, "x", "w1")).toBe(false);
      expect(await queue.heartbeat(first, undefined, "w1")).toEqual({ ok: false, reason: "lost" });
      expect(await statusOf(queue, id)).toBe("active");
      expect(await queue.ack(second, "w1")).toBe(true);
    });

    test("a worker that stalls between its claim and its epoch, and loses the job meanwhile, does not get it", async () => {
      const bench = open();
      const stalled = deferred<void>();
      const reached = deferred<void>();
      const { leases } = bench.store;
      const acquire: typeof leases.acquire = async (request) => {
        reached.resolve();
        await stalled.promise;
        return leases.acquire(request);
      };
      const slow = bench.queue({}, { ...bench.store, leases: { ...leases, acquire } });
      const queue = bench.queue();
      await queue.enqueue({ ...start, runId: "r" });
      const late = slow.dequeue("w1");
      await reached.promise;
      await bench.pass(300_001);
      await queue.reclaimExpired();
      const job = await take(queue, "w2");
      stalled.resolve();
      expect(await late).toBe(null);
      expect(await queue.ack(job, "w2")).toBe(true);
    });

    test("a job that ends in a crash each time is dead-lettered, with its reason", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue({ ...start, runId: "r", maxAttempts: 2 });
      const dead: unknown[] = [];
      for (const status of ["waiting", "dead_letter"]) {
        await take(queue);
        await bench.pass(300_000);
        expect(await queue.reclaimExpired({ onDeadLetter: (letter) => dead.push(letter) })).toBe(1);
        expect(await statusOf(queue, id)).toBe(status);
      }
      const error = "CRASH_LIMIT: 2 claims in a row ended without an answer";
      expect(dead).toEqual([{ jobId: id, runId: "r", error }]);
      expect(await queue.getJob(id)).toMatchObject({ attempt: 2, lastError: error });
    });

    test("failures and crashes together never exceed the attempts", async () => {
      const bench = open();
      const queue = bench.queue({ retryBackoffMs: 0 });
      const id = await queue.enqueue({ ...start, maxAttempts: 3 });
      await queue.nack(await take(queue), "one");
      for (const attempt of [2, 3]) {
        expect((await take(queue)).attempt).toBe(attempt);
        await bench.pass(300_000);
        await queue.reclaimExpired();
      }
      const dead: unknown[] = [];
      expect(await queue.dequeue("w1", { onDeadLetter: (letter) => dead.push(letter) })).toBeNull();
      expect(dead).toEqual([{ jobId: id, runId: id, error: expect.stringContaining("all 3 attempts") }]);
      expect(await statusOf(queue, id)).toBe("dead_letter");
    });

    test("a crash before the last failure is counted too", async () => {
      const bench = open();
      const queue = bench.queue();
      await queue.enqueue({ ...start, maxAttempts: 2 });
      await take(queue);
      await bench.pass(300_000);
      await queue.reclaimExpired();
      expect(await queue.nack(await take(queue), "second")).toBe("dead_letter");
    });

    test("each job has its own timeout, shorter or longer than the queue's", async () => {
      const bench = open();
      const queue = bench.queue({ visibilityTimeoutMs: 10_000 });
      const short = await queue.enqueue({ ...start, visibilityTimeoutMs: 1_000, priority: 0 });
      const long = await queue.enqueue({ ...start, visibilityTimeoutMs: 60_000, priority: 1 });
      const usual = await queue.enqueue({ ...start, priority: 2 });
      for (let i = 0; i < 3; i++) await take(queue);
      const statuses = async () => Promise.all([short, usual, long].map((id) => statusOf(queue, id)));
      await bench.pass(1_000);
      await queue.reclaimExpired();
      expect(await statuses()).toEqual(["waiting", "active", "active"]);
      await bench.pass(9_000);
      await queue.reclaimExpired();
      expect(await statuses()).toEqual(["waiting", "waiting", "active"]);
      await bench.pass(50_000);
      await queue.reclaimExpired();
      expect(await statuses()).toEqual(["waiting", "waiting", "waiting"]);
    });

    test("the store's clock decides: a process whose clock is hours off reclaims nothing", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      await take(queue);
      const ahead = bench.queue({ world: new VirtualWorld({ startAt: Date.UTC(2099, 0, 1), seed: 7 }) });
      await bench.world.advance(10 * 3_600_000);
      expect(await ahead.reclaimExpired()).toBe(0);
      expect(await statusOf(ahead, id)).toBe("active");
    });

    test("expired claims of other programs are not counted", async () => {
      const bench = open();
      const [mine, other] = [bench.queue(), bench.queue({ program: "other" })];
      await other.enqueue(start);
      await take(other);
      await bench.pass(300_000);
      expect(await mine.reclaimExpired()).toBe(0);
    });
  });
}

function pausing(open: () => Bench) {
  describe("release", () => {
    test("pauses a job without costing an attempt, and dequeue skips it", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      expect(await queue.release(await take(queue), "w1")).toBe(true);
      expect(await queue.getJob(id)).toMatchObject({ status: "paused", attempt: 0, workerId: null, visibleAt: null });
      await bench.pass(1_000_000);
      await queue.reclaimExpired();
      expect(await queue.dequeue("w1")).toBeNull();
      expect(await statusOf(queue, id)).toBe("paused");
    });

    test("any process may ack a paused job, and a resume job continues", async () => {
      const bench = open();
      const [worker, api] = [bench.queue(), bench.queue()];
      const id = await worker.enqueue({ ...start, runId: "r", graphId: "g" });
      await worker.release(await take(worker));
      expect(await api.ack(id)).toBe(true);
      expect(await api.ack(id)).toBe(false);
      expect(await statusOf(api, id)).toBe("completed");
      await api.enqueue({ type: "resume", runId: "r", graphId: "g", humanResponse: { decision: "approved" } });
      const job = await take(worker);
      expect(job).toMatchObject({ type: "resume", runId: "r", humanResponse: { decision: "approved" }, attempt: 1 });
      expect(await worker.ack(job)).toBe(true);
      expect(await worker.getQueueDepth()).toEqual({ waiting: 0, active: 0, paused: 0, dead_letter: 0 });
    });

    test("a paused job that is cancelled from outside has failed, and is not resumed", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      await queue.release(await take(queue));
      await bench.store.runs.cancel(id, { by: "operator" });
      expect(await statusOf(queue, id)).toBe("failed");
      expect(await queue.resume(id, "yes")).toBeNull();
    });
  });

  describe("resume", () => {
    test("creates the resume job and ends the paused one, with all its options and a higher epoch", async () => {
      const bench = open();
      const [worker, api] = [bench.queue(), bench.queue()];
      const input = { runId: "r", graphId: "g", tenantId: "t", initialState: { a: 1 }, priority: 4, maxAttempts: 7 };
      const id = await worker.enqueue({ ...start, ...input });
      await worker.handBack(await take(worker));
      const paused = await take(worker);
      await worker.release(paused);
      const resumeId = await api.resume(id, "approved");
      expect(await statusOf(api, id)).toBe("completed");
      const job = await take(worker);
      expect(job).toMatchObject({ ...input, id: resumeId, type: "resume", humanResponse: "approved", attempt: 1 });
      expect(job.claimEpoch).toBeGreaterThan(paused.claimEpoch);
      expect((await worker.getJob(job.id))?.claimEpoch).toBe(job.claimEpoch);
      await worker.release(job);
      const third = await api.resume(job.id, "again");
      expect((await take(worker)).claimEpoch).toBeGreaterThan(job.claimEpoch);
      expect(third).not.toBe(resumeId);
    });

    test("one decision per pause: the same again is the same job, another one is a conflict", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      await queue.release(await take(queue));
      const answers = await Promise.all([queue.resume(id, "yes"), bench.queue().resume(id, "yes")]);
      expect(answers[0]).toBe(answers[1]);
      expect(await queue.resume(id, "yes")).toBe(answers[0]);
      await expect(queue.resume(id, "no")).rejects.toMatchObject({ code: "KEY_CONFLICT", runId: answers[0] });
      expect((await queue.getQueueDepth()).waiting).toBe(1);
    });

    test("a job that is not paused is not resumed", async () => {
      const queue = open().queue();
      const id = await queue.enqueue(start);
      expect(await queue.resume(id, "yes")).toBeNull();
      const job = await take(queue);
      expect(await queue.resume(id, "yes")).toBeNull();
      await queue.ack(job);
      expect(await queue.resume(id, "yes")).toBeNull();
    });
  });
}

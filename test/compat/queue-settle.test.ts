// The workflow queue on both stores: ack, nack and hand back, guarded by the state and by the claim.

import { describe, expect, test } from "vitest";
import type { ClaimedJob, StoreQueue } from "../../src/compat/index.js";
import { type Bench, onBothStores, Unavailable, withRuns } from "./bench.js";
import { start, statusOf, take } from "./queue-scene.js";

onBothStores((open) => {
  settling(open);
  failing(open);
});

function settling(open: () => Bench) {
  describe("every move is guarded by the state and by the claim", () => {
    /** How a job gets into each status; returns its id and its holder. */
    const INTO: Record<string, (queue: StoreQueue, job: ClaimedJob) => Promise<unknown>> = {
      waiting: (queue, job) => queue.handBack(job),
      paused: (queue, job) => queue.release(job),
      completed: (queue, job) => queue.ack(job),
      dead_letter: (queue, job) => queue.nack(job, "no"),
    };
    for (const [status, move] of Object.entries(INTO)) {
      test(`a job that is ${status}`, async () => {
        const queue = open().queue();
        const id = await queue.enqueue({ ...start, maxAttempts: 1 });
        const job = await take(queue);
        await move(queue, job);
        const before = await queue.getJob(id);
        expect(before?.status).toBe(status);
        for (const ref of [id, job]) {
          expect(await queue.nack(ref, "late")).toBe(false);
          expect(await queue.nack(ref, "late", "w1")).toBe(false);
          expect(await queue.release(ref)).toBe(false);
          expect(await queue.handBack(ref)).toBe(false);
          expect(await queue.heartbeat(ref)).toEqual({ ok: false, reason: "lost" });
          expect(await queue.ack(ref, "w1")).toBe(false);
        }
        expect(await queue.ack(job)).toBe(false);
        if (status !== "paused") expect(await queue.ack(id)).toBe(false);
        expect(await queue.getJob(id)).toEqual(before);
      });
    }

    test("unknown ids are no-ops, whatever they look like", async () => {
      const queue = open().queue();
      for (const id of ["no-uuid", "", "'; --", "00000000-0000-7000-8000-000000000000"]) {
        expect(await queue.ack(id)).toBe(false);
        expect(await queue.nack(id, "x")).toBe(false);
        expect(await queue.release(id)).toBe(false);
        expect(await queue.handBack(id)).toBe(false);
        expect(await queue.heartbeat(id, 5)).toEqual({ ok: false, reason: "lost" });
        expect(await queue.resume(id, null)).toBeNull();
        expect(await queue.getJob(id)).toBeNull();
      }
    });

    test("a worker id that is not the owner's is a no-op", async () => {
      const queue = open().queue();
      const id = await queue.enqueue(start);
      await take(queue, "w1");
      expect(await queue.ack(id, "w2")).toBe(false);
      expect(await queue.nack(id, "x", "w2")).toBe(false);
      expect(await queue.release(id, "w2")).toBe(false);
      expect(await queue.heartbeat(id, undefined, "w2")).toEqual({ ok: false, reason: "lost" });
      expect(await statusOf(queue, id)).toBe("active");
      expect(await queue.ack(id, "w1")).toBe(true);
    });

    test("a queue object that did not dequeue the job cannot move it", async () => {
      const bench = open();
      const [mine, other] = [bench.queue(), bench.queue()];
      const id = await mine.enqueue(start);
      const job = await take(mine);
      for (const ref of [id, job]) {
        expect(await other.ack(ref)).toBe(false);
        expect(await other.ack(ref, "w1")).toBe(false);
        expect(await other.nack(ref, "x")).toBe(false);
        expect(await other.release(ref)).toBe(false);
        expect(await other.heartbeat(ref)).toEqual({ ok: false, reason: "lost" });
      }
      expect(await mine.ack(id)).toBe(true);
    });

    test("of two acks at the same moment one counts", async () => {
      const queue = open().queue();
      const id = await queue.enqueue(start);
      await take(queue);
      expect((await Promise.all([queue.ack(id), queue.ack(id)])).sort()).toEqual([false, true]);
      expect(await queue.getJob(id)).toMatchObject({
        status: "completed",
        workerId: null,
        attempt: 1,
        visibleAt: null,
      });
    });

    test("an ack whose answer was lost is recognised when it is repeated", async () => {
      const bench = open();
      for (const written of [true, false]) {
        let broken = true;
        const commit: Bench["store"]["runs"]["commit"] = async (commits) => {
          const answers = written || !broken ? await bench.store.runs.commit(commits) : [];
          if (broken) throw new Unavailable("no answer");
          return answers;
        };
        const queue = bench.queue({}, withRuns(bench.store, { commit }));
        const id = await queue.enqueue(start);
        const job = await take(queue);
        await expect(queue.ack(job)).rejects.toThrow("no answer");
        broken = false;
        expect(await queue.ack(job)).toBe(true);
        expect(await queue.ack(job)).toBe(false);
        expect(await statusOf(queue, id)).toBe("completed");
      }
    });

    test("the depth counts what is waiting, active, paused and dead", async () => {
      const queue = open().queue();
      for (let i = 0; i < 5; i++) await queue.enqueue({ ...start, maxAttempts: 1 });
      await queue.ack(await take(queue));
      await queue.nack(await take(queue), "no");
      await queue.release(await take(queue));
      await take(queue);
      expect(await queue.getQueueDepth()).toEqual({ waiting: 1, active: 1, paused: 1, dead_letter: 1 });
      expect(await queue.queueDepth()).toBe(2);
    });

    test("a custom depth provider belongs to its queue object alone", async () => {
      const bench = open();
      const [one, two] = [bench.queue(), bench.queue()];
      await one.enqueue(start);
      one.setQueueDepthProvider(async () => (await one.getQueueDepth()).waiting * 100);
      expect([await one.queueDepth(), await two.queueDepth()]).toEqual([100, 1]);
      one.setQueueDepthProvider(null);
      expect(await one.queueDepth()).toBe(1);
    });
  });
}

function failing(open: () => Bench) {
  describe("nack", () => {
    test("waits 1 s, then twice as long each time, and dead-letters at the last attempt", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      for (const [attempt, waitMs] of [
        [1, 1_000],
        [2, 2_000],
      ] as const) {
        const job = await take(queue);
        expect(job.attempt).toBe(attempt);
        expect(await queue.nack(id, new Error(`failure ${attempt}`), "w1")).toBe("waiting");
        const seen = await queue.getJob(id);
        expect(seen).toMatchObject({ status: "waiting", attempt, workerId: null, lastError: `failure ${attempt}` });
        expect(seen?.visibleAt).toBe(job.claimedAt + waitMs);
        await bench.pass(waitMs - 1);
        expect(await queue.dequeue("w1")).toBeNull();
        await bench.pass(1);
      }
      await take(queue);
      expect(await queue.nack(id, "enough")).toBe("dead_letter");
      expect(await queue.getJob(id)).toMatchObject({ status: "dead_letter", attempt: 3, lastError: "enough" });
      await bench.pass(1_000_000);
      expect(await queue.dequeue("w1")).toBeNull();
    });

    test("the back-off has a cap, and 0 means at once", async () => {
      const bench = open();
      const capped = bench.queue({ retryBackoffMs: 1_000, retryBackoffMaxMs: 1_500 });
      await capped.enqueue({ ...start, maxAttempts: 10 });
      for (const waitMs of [1_000, 1_500, 1_500]) {
        await capped.nack(await take(capped), "x");
        await bench.pass(waitMs - 1);
        expect(await capped.dequeue("w1")).toBeNull();
        await bench.pass(1);
      }
      const eager = bench.queue({ retryBackoffMs: 0, queue: "eager" });
      const id = await eager.enqueue(start);
      await eager.nack(await take(eager), "x");
      expect((await take(eager)).id).toBe(id);
    });

    test("whatever was thrown is kept as text", async () => {
      const queue = open().queue({ retryBackoffMs: 0 });
      const id = await queue.enqueue({ ...start, maxAttempts: 99 });
      for (const [thrown, text] of [
        [new Error("no"), "no"],
        ["plain", "plain"],
        [{ message: "like one" }, "like one"],
        [undefined, "undefined was thrown"],
        ["\0\ud800", expect.any(String)],
      ] as const) {
        await queue.nack(await take(queue), thrown);
        expect((await queue.getJob(id))?.lastError).toEqual(text);
      }
    });
  });

  describe("handBack", () => {
    test("costs nothing, however often", async () => {
      const queue = open().queue();
      const id = await queue.enqueue({ ...start, maxAttempts: 2 });
      for (let i = 1; i <= 5; i++) {
        const job = await take(queue);
        expect(job).toMatchObject({ attempt: 1, claimEpoch: i });
        expect(await queue.handBack(job)).toBe(true);
      }
      expect(await queue.getJob(id)).toMatchObject({ status: "waiting", attempt: 0 });
      await queue.ack(await take(queue));
      expect(await queue.getJob(id)).toMatchObject({ status: "completed", attempt: 1 });
    });
  });
}

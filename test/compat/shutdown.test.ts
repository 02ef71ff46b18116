// How a worker stops, on both stores: in the four steps, and without losing, repeating or charging more than it must.

import { describe, expect, test } from "vitest";
import { type ClaimedJob, HandBack, type JobContext } from "../../src/compat/index.js";
import { type Bench, latch, onBothStores, withRuns } from "./bench.js";

const start = { type: "start" } as const;
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

onBothStores((open) => {
  describe("stop", () => {
    test("asks handlers to stop at a safe point, and jobs they hand back wait again at no cost", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue({ ...start, maxAttempts: 1 });
      const handler = async (_: ClaimedJob, { signal, stopping }: JobContext) => {
        await aborted(stopping);
        expect(signal.aborted).toBe(false);
        return new HandBack();
      };
      const { worker, names } = bench.worker({ queue, handler });
      for (let restart = 0; restart < 3; restart++) {
        await worker.start();
        await bench.until(() => worker.activeJobCount === 1);
        await bench.during(worker.stop());
        expect(await queue.getJob(id)).toMatchObject({ status: "waiting", attempt: 0, workerId: null });
      }
      expect(names().filter((name) => name === "job:handed_back")).toHaveLength(3);
    });

    test("waits for running handlers and acks their jobs", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      const gate = latch();
      const { worker, names } = bench.worker({ queue, handler: () => gate.promise });
      await worker.start();
      await bench.until(() => worker.activeJobCount === 1);
      const stopping = worker.stop();
      await bench.world.advance(29_000);
      expect(names()).not.toContain("worker:stopped");
      gate.resolve();
      await bench.during(stopping);
      expect(names().slice(-2)).toEqual(["job:completed", "worker:stopped"]);
      expect((await queue.getJob(id))?.status).toBe("completed");
    });

    test("aborts handlers that outlive the grace period; the job of one that ends then is not acked, whatever it returns", async () => {
      const bench = open();
      const queue = bench.queue();
      const ends = [() => "cancelled", () => Promise.reject(new Error("aborted"))];
      const ids = [await queue.enqueue(start), await queue.enqueue(start)];
      const reasons: unknown[] = [];
      const handler = async (job: ClaimedJob, { signal }: JobContext) => {
        await aborted(signal);
        reasons.push((signal.reason as Error).name);
        return ends[ids.indexOf(job.id)]?.();
      };
      const { worker, names } = bench.worker({ queue, handler, concurrency: 2, shutdownGracePeriodMs: 500 });
      await worker.start();
      await bench.until(() => worker.activeJobCount === 2);
      const from = bench.world.monotonicNow();
      await bench.during(worker.stop(), 1);
      expect(bench.world.monotonicNow() - from).toBeGreaterThanOrEqual(500);
      expect(reasons).toEqual(["AbortError", "AbortError"]);
      expect(names().slice(-3)).toEqual(["job:handed_back", "job:handed_back", "worker:stopped"]);
      for (const id of ids) expect(await queue.getJob(id)).toMatchObject({ status: "waiting", attempt: 0 });
    });

    test("a handler that does not end keeps its job active until it times out and another worker takes it", async () => {
      const bench = open();
      const [queue, other] = [bench.queue(), bench.queue()];
      const id = await queue.enqueue(start);
      const late = latch();
      const stubborn = bench.worker({ queue, handler: () => late.promise, shutdownGracePeriodMs: 1_000 });
      await stubborn.worker.start();
      await bench.until(() => stubborn.worker.activeJobCount === 1);
      await bench.during(stubborn.worker.stop());
      expect((await queue.getJob(id))?.status).toBe("active");
      // It ends after all: nothing is written after the worker has stopped.
      late.resolve();
      const from = bench.world.monotonicNow();
      await bench.until(() => bench.world.monotonicNow() - from > 2_000);
      expect((await queue.getJob(id))?.status).toBe("active");
      expect(stubborn.names()).toEqual(["worker:started", "job:claimed", "worker:stopped"]);

      const { worker, names } = bench.worker({ queue: other, handler: () => {} });
      await worker.start();
      await bench.pass(300_000);
      await bench.until(() => names().includes("job:completed"), 1_000);
      await bench.during(worker.stop());
    });

    test("claims nothing more, and releases a job that was being claimed", async () => {
      const bench = open();
      const asked = latch();
      const answer = latch();
      const claim: Bench["store"]["runs"]["claim"] = async (request) => {
        const claimed = await bench.store.runs.claim(request);
        asked.resolve();
        await answer.promise;
        return claimed;
      };
      const queue = bench.queue({}, withRuns(bench.store, { claim }));
      const id = await queue.enqueue(start);
      const { worker, names } = bench.worker({ queue, handler: () => {} });
      await worker.start();
      await bench.during(asked.promise);
      const stopping = worker.stop();
      answer.resolve();
      await bench.during(stopping);
      expect(names()).toEqual(["worker:started", "worker:stopped"]);
      expect(await queue.getJob(id)).toMatchObject({ status: "waiting", attempt: 0 });
    });

    test("ends the poll's sleep and leaves no timer behind", async () => {
      const bench = open();
      const { worker } = bench.worker({ queue: bench.queue(), handler: () => {}, pollIntervalMs: 1_000_000 });
      await worker.start();
      await bench.world.advance(10);
      await bench.during(worker.stop(), 0);
      expect(bench.world.pendingTimers).toBe(0);
    });
  });
});

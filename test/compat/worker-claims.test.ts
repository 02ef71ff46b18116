// The worker over the queue, on both stores: claims that are kept, lost and reclaimed, and humans in the loop.

import { describe, expect, test } from "vitest";
import { type ClaimedJob, Release } from "../../src/compat/index.js";
import { ClaimLost } from "../../src/index.js";
import { type Bench, latch, onBothStores } from "./bench.js";

const start = { type: "start" } as const;
const facts = (job: { id: string; runId: string }) => ({ jobId: job.id, runId: job.runId });

onBothStores((open) => {
  losing(open);
  pausing(open);
});

function losing(open: () => Bench) {
  describe("claims", () => {
    test("heartbeats keep a job that runs for longer than its timeout", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      const gate = latch();
      const { worker, names } = bench.worker({ queue, handler: () => gate.promise });
      await worker.start();
      await bench.until(() => names().includes("job:claimed"));
      for (let minute = 0; minute < 8; minute++) {
        const before = (await queue.getJob(id))?.visibleAt ?? 0;
        await bench.pass(60_000);
        await bench.until(async () => ((await queue.getJob(id))?.visibleAt ?? 0) > before, 10_000);
      }
      expect(await bench.queue().reclaimExpired()).toBe(0);
      gate.resolve();
      await bench.until(() => names().includes("job:completed"));
      await bench.during(worker.stop());
    });

    test("a job with a short timeout gets heartbeats more often than the interval", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue({ ...start, visibilityTimeoutMs: 3_000 });
      const gate = latch();
      const { worker, names } = bench.worker({ queue, handler: () => gate.promise });
      await worker.start();
      await bench.until(() => names().includes("job:claimed"));
      await bench.pass(2_000);
      const { visibleAt } = (await queue.getJob(id))!;
      const from = bench.world.monotonicNow();
      await bench.until(async () => (await queue.getJob(id))?.visibleAt === visibleAt! + 2_000);
      expect(bench.world.monotonicNow() - from).toBeLessThan(3_000);
      gate.resolve();
      await bench.until(() => names().includes("job:completed"));
      await bench.during(worker.stop());
    });

    test("a lost claim aborts the handler, is reported once, and leaves the job's state alone", async () => {
      const bench = open();
      const [queue, other] = [bench.queue(), bench.queue()];
      const id = await queue.enqueue(start);
      const ended = latch<unknown>();
      const handler = async (_: ClaimedJob, { signal }: { signal: AbortSignal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        ended.resolve(signal.reason);
        return "as if nothing had happened";
      };
      const { worker, told, names } = bench.worker({ queue, handler, heartbeatIntervalMs: 1_000 });
      await worker.start();
      await bench.until(() => names().includes("job:claimed"));
      await bench.pass(300_000);
      await other.reclaimExpired();
      const taken = (await other.dequeue("w2"))!;
      const reason = await bench.during(ended.promise);
      expect(reason).toBeInstanceOf(ClaimLost);
      await bench.during(worker.stop());
      expect(told.slice(1, -1)).toEqual([
        ["job:claimed", facts(taken)],
        ["job:claim_lost", facts(taken)],
      ]);
      expect(await other.getJob(id)).toMatchObject({ status: "active", workerId: "w2", attempt: 2 });
      expect(await other.ack(taken)).toBe(true);
    });

    test("an end that comes too late is reported as a lost claim and changes nothing", async () => {
      const bench = open();
      const [queue, other] = [bench.queue(), bench.queue()];
      for (const end of [() => {}, () => Promise.reject(new Error("x")), () => new Release()]) {
        const id = await queue.enqueue({ ...start, maxAttempts: 9 });
        const gate = latch();
        const { worker, names } = bench.worker({ queue, handler: () => gate.promise.then(end) });
        await worker.start();
        await bench.until(() => names().includes("job:claimed"));
        await bench.pass(300_000);
        await other.reclaimExpired();
        const taken = (await other.dequeue("w2"))!;
        gate.resolve();
        await bench.until(() => names().includes("job:claim_lost"));
        await bench.during(worker.stop());
        expect(names()).toEqual(["worker:started", "job:claimed", "job:claim_lost", "worker:stopped"]);
        expect(await other.getJob(id)).toMatchObject({ status: "active", workerId: "w2" });
        await other.ack(taken);
      }
    });

    test("a handler that detects the loss throws ClaimLost, and nothing is written", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      const handler = (job: ClaimedJob) => {
        throw new ClaimLost({ runId: job.runId, epoch: job.claimEpoch, token: "" });
      };
      const { worker, names } = bench.worker({ queue, handler });
      await worker.start();
      await bench.until(() => names().includes("job:claim_lost"));
      await bench.during(worker.stop());
      expect((await queue.getJob(id))?.status).toBe("active");
    });

    test("the job of a dead worker is reclaimed by another worker's timer and executed there", async () => {
      const bench = open();
      const [dead, alive] = [bench.queue(), bench.queue()];
      const id = await dead.enqueue(start);
      await dead.dequeue("w1");
      const { worker, names } = bench.worker({ queue: alive, workerId: "w2", handler: () => {} });
      await worker.start();
      await bench.pass(300_000);
      await bench.until(() => names().includes("job:completed"), 1_000);
      await bench.during(worker.stop());
      expect(await alive.getJob(id)).toMatchObject({ status: "completed", attempt: 2 });
    });

    test("a job that killed its last worker is reported as a dead letter by the worker that finds it", async () => {
      const bench = open();
      const [dead, alive] = [bench.queue(), bench.queue()];
      const id = await dead.enqueue({ ...start, maxAttempts: 1 });
      await dead.dequeue("w1");
      const { worker, told, names } = bench.worker({ queue: alive, handler: () => {} });
      await worker.start();
      await bench.pass(300_000);
      await bench.until(() => names().includes("job:dead_letter"), 1_000);
      await bench.during(worker.stop());
      const error = "CRASH_LIMIT: 1 claims in a row ended without an answer";
      expect(told[1]).toEqual(["job:dead_letter", { jobId: id, runId: id, error }]);
    });

    test("a worker that gets its own job again ends it once", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      const gates = [latch(), latch()];
      const handler = ({ attempt }: ClaimedJob) => gates[attempt - 1]?.promise;
      const options = { queue, handler, concurrency: 2, heartbeatIntervalMs: 50_000, reclaimIntervalMs: 1_000 };
      const { worker, names } = bench.worker(options);
      await worker.start();
      await bench.until(() => names().includes("job:claimed"));
      await bench.pass(300_000);
      await bench.until(() => names().filter((name) => name === "job:claimed").length === 2);
      gates[0]?.resolve();
      await bench.until(() => names().includes("job:claim_lost"));
      expect((await queue.getJob(id))?.status).toBe("active");
      gates[1]?.resolve();
      await bench.until(() => names().includes("job:completed"));
      await bench.during(worker.stop());
      expect(names().filter((name) => name === "job:completed")).toHaveLength(1);
      expect(await queue.getJob(id)).toMatchObject({ status: "completed", attempt: 2 });
    });
  });
}

function pausing(open: () => Bench) {
  describe("human in the loop", () => {
    for (const [how, ask] of [
      ["returned", () => new Release()],
      ["thrown", () => Promise.reject(new Release())],
    ] as const) {
      test(`a release that is ${how} frees the worker; the decision continues in a resume job`, async () => {
        const bench = open();
        const [queue, api] = [bench.queue(), bench.queue()];
        const id = await api.enqueue({ ...start, runId: "r", graphId: "approval" });
        const approvals: unknown[] = [];
        const handler = (job: ClaimedJob) => {
          if (job.graphId !== "approval") return "no gate";
          if (job.type === "start") return ask();
          approvals.push([job.runId, job.humanResponse]);
          return "paid";
        };
        const { worker, told, names } = bench.worker({ queue, handler });
        await worker.start();
        await bench.until(() => names().includes("job:released"));
        expect(told.at(-1)).toEqual(["job:released", { jobId: id, runId: "r" }]);
        // The gate is not executed again without a decision, and other jobs are processed.
        await api.enqueue({ ...start, graphId: "other" });
        await bench.until(() => names().includes("job:completed"));
        expect(approvals).toEqual([]);
        expect(await queue.getJob(id)).toMatchObject({ status: "paused", attempt: 0 });
        const resumeId = await api.resume(id, { decision: "approved" });
        await bench.until(async () => (await queue.getJob(resumeId!))?.status === "completed");
        await bench.during(worker.stop());
        expect(approvals).toEqual([["r", { decision: "approved" }]]);
        expect(await queue.getQueueDepth()).toEqual({ waiting: 0, active: 0, paused: 0, dead_letter: 0 });
      });
    }
  });
}

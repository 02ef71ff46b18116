// The worker over the queue, on both stores: its options, its events and its retries.

import { describe, expect, test } from "vitest";
import { type ClaimedJob, Release, WorkflowWorker } from "../../src/compat/index.js";
import { workerSettings } from "../../src/compat/worker-options.js";
import { HoldfastError } from "../../src/index.js";
import { type Bench, latch, onBothStores, Unavailable, withRuns } from "./bench.js";

const start = { type: "start" } as const;
const _facts = (job: { id: string; runId: string }) => ({ jobId: job.id, runId: job.runId });

test("the options have the defaults of the table", () => {
  const queue = { world: { token: () => "generated" } } as Bench["queue"] extends () => infer Q ? Q : never;
  const handler = () => {};
  expect(workerSettings({ queue, handler })).toEqual({
    queue,
    world: queue.world,
    handler,
    workerId: "generated",
    concurrency: 1,
    pollIntervalMs: 1_000,
    heartbeatIntervalMs: 60_000,
    reclaimIntervalMs: 30_000,
    shutdownGracePeriodMs: 30_000,
  });
  for (const wrong of [{ concurrency: 0 }, { pollIntervalMs: 0 }, { workerId: "" }, { handler: 5 as never }]) {
    expect(() => new WorkflowWorker({ queue, handler, ...wrong })).toThrow(HoldfastError);
  }
});

onBothStores((open) => {
  working(open);
  failing(open);
});

function working(open: () => Bench) {
  describe("work", () => {
    test("a job is claimed, handled and completed, and each is reported", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue({ ...start, runId: "r", initialState: { goal: "x" } });
      const seen: ClaimedJob[] = [];
      const { worker, told } = bench.worker({ queue, workerId: "w1", handler: (job) => seen.push(job) });
      await worker.start();
      await bench.until(() => told.length === 3);
      await bench.during(worker.stop());
      expect(told).toEqual([
        ["worker:started", { workerId: "w1" }],
        ["job:claimed", { jobId: id, runId: "r" }],
        ["job:completed", { jobId: id, runId: "r" }],
        ["worker:stopped", { workerId: "w1" }],
      ]);
      expect(seen).toMatchObject([{ id, initialState: { goal: "x" }, workerId: "w1", attempt: 1, claimEpoch: 1 }]);
      expect((await queue.getJob(id))?.status).toBe("completed");
    });

    test("an empty queue is polled every second", async () => {
      const bench = open();
      let answers = 0;
      const claim: Bench["store"]["runs"]["claim"] = async (request) => {
        const claimed = await bench.store.runs.claim(request);
        answers++;
        return claimed;
      };
      const queue = bench.queue({}, withRuns(bench.store, { claim }));
      const { worker, names } = bench.worker({ queue, handler: () => {} });
      await worker.start();
      await bench.until(() => answers === 1, 0);
      await queue.enqueue(start);
      await bench.until(() => bench.world.monotonicNow() > 900);
      expect(answers).toBe(1);
      await bench.until(() => names().includes("job:completed"));
      await bench.during(worker.stop());
    });

    test("a slot that becomes free takes the next job at once, without waiting for a poll", async () => {
      const bench = open();
      const queue = bench.queue();
      for (let i = 0; i < 10; i++) await queue.enqueue(start);
      await bench.pass(1);
      const { worker, names } = bench.worker({ queue, handler: () => {}, pollIntervalMs: 1_000_000 });
      await worker.start();
      await bench.until(() => names().filter((name) => name === "job:completed").length === 10);
      await bench.during(worker.stop());
    });

    test("a worker handles as many jobs at a time as its concurrency, and no more", async () => {
      const bench = open();
      const queue = bench.queue();
      for (let i = 0; i < 5; i++) await queue.enqueue(start);
      const gate = latch();
      let most = 0;
      const handler = async () => {
        most = Math.max(most, worker.activeJobCount);
        await gate.promise;
      };
      const { worker, names } = bench.worker({ queue, concurrency: 2, handler });
      await worker.start();
      await bench.until(() => worker.activeJobCount === 2);
      await bench.world.advance(5_000);
      expect(await queue.getQueueDepth()).toMatchObject({ waiting: 3, active: 2 });
      gate.resolve();
      await bench.until(() => names().filter((name) => name === "job:completed").length === 5);
      expect(most).toBe(2);
      await bench.during(worker.stop());
    });

    test("starting twice starts once; stopping what does not run does nothing; it may start again", async () => {
      const bench = open();
      const queue = bench.queue();
      const { worker, names } = bench.worker({ queue, handler: () => {} });
      await worker.stop();
      await Promise.all([worker.start(), worker.start()]);
      await bench.during(Promise.all([worker.stop(), worker.stop()]));
      expect(names()).toEqual(["worker:started", "worker:stopped"]);
      await worker.start();
      await queue.enqueue(start);
      await bench.until(() => names().includes("job:completed"));
      await bench.during(worker.stop());
    });

    test("a worker is a node of the cluster while it works", async () => {
      const bench = open();
      const queue = bench.queue();
      const { worker } = bench.worker({ queue, workerId: "w1", handler: () => {} });
      await worker.start();
      expect(await bench.store.nodes.list({ env: bench.env })).toMatchObject([{ identity: "w1", holds: 0 }]);
      await bench.during(worker.stop());
      expect(await bench.store.nodes.list({ env: bench.env })).toEqual([]);
    });

    test("the end of one worker leaves the depth of the queue readable for the others", async () => {
      const bench = open();
      const queue = bench.queue();
      const [one, two] = [bench.worker({ queue, handler: () => {} }), bench.worker({ queue, handler: () => {} })];
      queue.setQueueDepthProvider(() => 42);
      await one.worker.start();
      await two.worker.start();
      await bench.during(one.worker.stop());
      expect(await queue.queueDepth()).toBe(42);
      await bench.during(two.worker.stop());
    });
  });
}

function failing(open: () => Bench) {
  describe("failure", () => {
    test("a job that throws is executed again until its attempts are used up, and each end is reported", async () => {
      const bench = open();
      const queue = bench.queue({ retryBackoffMs: 0 });
      const id = await queue.enqueue({ ...start, runId: "r" });
      const errors = [new Error("one"), new Error("two"), new Error("three")];
      const handler = ({ attempt }: ClaimedJob) => {
        throw errors[attempt - 1];
      };
      const { worker, told, names } = bench.worker({ queue, handler });
      await worker.start();
      await bench.until(() => names().includes("job:dead_letter"));
      await bench.during(worker.stop());
      const ends = told.filter(([name]) => name === "job:failed" || name === "job:dead_letter");
      expect(ends).toEqual([
        ["job:failed", { jobId: id, runId: "r", error: errors[0] }],
        ["job:failed", { jobId: id, runId: "r", error: errors[1] }],
        ["job:dead_letter", { jobId: id, runId: "r", error: errors[2] }],
      ]);
      expect(await queue.getJob(id)).toMatchObject({ status: "dead_letter", attempt: 3, lastError: "three" });
    });

    test("a job that fails once and then works is completed", async () => {
      const bench = open();
      const queue = bench.queue({ retryBackoffMs: 0 });
      await queue.enqueue(start);
      const handler = ({ attempt }: ClaimedJob) => {
        if (attempt === 1) throw new TypeError("not yet");
      };
      const { worker, names } = bench.worker({ queue, handler });
      await worker.start();
      await bench.until(() => names().includes("job:completed"));
      await bench.during(worker.stop());
      const ends = ["job:claimed", "job:failed", "job:claimed", "job:completed"];
      expect(names()).toEqual(["worker:started", ...ends, "worker:stopped"]);
    });

    test("an end without an answer is written again and never becomes a failure", async () => {
      const bench = open();
      let broken = 2;
      const commit: Bench["store"]["runs"]["commit"] = async (commits) => {
        if (broken-- > 1) throw new Unavailable("before");
        const answers = await bench.store.runs.commit(commits);
        if (broken === 0) throw new Unavailable("after it was written");
        return answers;
      };
      const queue = bench.queue({}, withRuns(bench.store, { commit }));
      const id = await queue.enqueue(start);
      let calls = 0;
      const handler = () => {
        calls++;
        return new Release();
      };
      const { worker, names } = bench.worker({ queue, handler });
      await worker.start();
      await bench.until(() => names().includes("job:released"));
      await bench.during(worker.stop());
      expect(names().filter((name) => name !== "worker:error")).toEqual([
        "worker:started",
        "job:claimed",
        "job:released",
        "worker:stopped",
      ]);
      expect(calls).toBe(1);
      expect(await queue.getJob(id)).toMatchObject({ status: "paused", attempt: 0, lastError: null });
    });

    test("a queue that cannot be polled is reported and polled again", async () => {
      const bench = open();
      let broken = 3;
      const claim: Bench["store"]["runs"]["claim"] = async (request) => {
        if (broken-- > 0) throw new Unavailable("away");
        return bench.store.runs.claim(request);
      };
      const queue = bench.queue({}, withRuns(bench.store, { claim }));
      await queue.enqueue(start);
      const { worker, told, names } = bench.worker({ queue, workerId: "w1", handler: () => {} });
      await worker.start();
      await bench.until(() => names().includes("job:completed"));
      await bench.during(worker.stop());
      const errors = told.filter(([name]) => name === "worker:error").map(([, error]) => error);
      expect(errors).toEqual(Array(3).fill({ workerId: "w1", during: "dequeue", error: expect.any(Unavailable) }));
    });

    test("a listener that throws does not disturb the work", async () => {
      const bench = open();
      const queue = bench.queue();
      await queue.enqueue(start);
      const { worker, names } = bench.worker({ queue, handler: () => {} });
      worker.on("job:claimed", () => {
        throw new TypeError("listener");
      });
      await worker.start();
      await bench.until(() => names().includes("job:completed"));
      await bench.during(worker.stop());
    });
  });
}

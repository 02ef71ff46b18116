// The contract of a workflow queue on both stores, and what a worker adds to it: fenced writes, back-off, signs of life, listeners.

import { expect, test } from "vitest";
import { type ClaimedJob, HandBack, queueConformance, type WorkflowQueue } from "../../src/compat/index.js";
import { onBothStores } from "./bench.js";
import { take } from "./queue-scene.js";

onBothStores((open) => {
  for (const { name, run } of queueConformance) {
    test(name, async () => {
      const bench = open();
      await run({ queue: bench.queue(), advance: async (ms) => void (await bench.pass(ms)) });
    });
  }

  test("a handler's own writes are committed only while its job is held", async () => {
    const bench = open();
    const [queue, other] = [bench.queue(), bench.queue()];
    const id = await queue.enqueue({ type: "start", visibilityTimeoutMs: 1_000 });
    const job = await take(queue);
    expect(await queue.transaction(job, async () => "written")).toBe("written");
    expect(await queue.ack(job)).toBe(true);
    await expect(queue.transaction(job, async () => "late")).rejects.toMatchObject({ code: "CLAIM_LOST" });
    await queue.enqueue({ type: "start", visibilityTimeoutMs: 1_000 });
    const lost = await take(queue);
    await bench.pass(1_100);
    await other.reclaimExpired();
    await take(other, "w2");
    await expect(queue.transaction(lost, async () => "late")).rejects.toMatchObject({ code: "CLAIM_LOST" });
    expect((await bench.store.journal.read(id))!.entries.map(({ kind }) => kind)).toContain("transaction");
  });

  test("a job that its handler hands back is not taken again before the next poll", async () => {
    const bench = open();
    const queue = bench.queue();
    const claimedAt: number[] = [];
    const handler = async () => {
      claimedAt.push(bench.world.monotonicNow());
      return new HandBack();
    };
    const { worker } = bench.worker({ queue, handler, workerId: "w1", pollIntervalMs: 500 });
    await queue.enqueue({ type: "start" });
    await worker.start();
    // Virtual time also passes while a real database answers, so a busy machine makes the pauses longer and never shorter.
    const until = performance.now() + 20_000;
    while (claimedAt.length < 4 && performance.now() < until) {
      await bench.world.advance(20);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(claimedAt.length).toBe(4);
    const pauses = claimedAt.slice(1).map((at, i) => at - claimedAt[i]!);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(330);
    await bench.during(worker.stop());
  });

  test("a dead letter is reported by one worker, also when a node reclaims it, or while no worker is up", async () => {
    const bench = open();
    const dead = bench.queue();
    const id = await dead.enqueue({ type: "start", maxAttempts: 1 });
    await dead.dequeue("w1");
    await bench.pass(300_000);
    await bench.store.runs.reclaimExpired({ env: bench.env, limit: 100 }); // as a node does
    expect((await dead.getJob(id))?.status).toBe("dead_letter");
    const workers = [1, 2].map((n) =>
      bench.worker({ queue: bench.queue(), handler: () => {}, workerId: `alive ${n}`, reclaimIntervalMs: 1_000 }),
    );
    await Promise.all(workers.map(({ worker }) => worker.start()));
    const letters = () => workers.flatMap(({ told }) => told.filter(([name]) => name === "job:dead_letter"));
    await bench.until(() => letters().length > 0, 500);
    await bench.during(bench.world.advance(5_000));
    for (let i = 0; i < 10; i++) await bench.until(() => true);
    expect(letters()).toMatchObject([["job:dead_letter", { jobId: id }]]);
    // One that its own worker has reported is not reported again.
    await Promise.all(workers.map(({ worker }) => bench.during(worker.stop())));
    const failing = await dead.enqueue({ type: "start", maxAttempts: 1 });
    await dead.nack((await dead.dequeue("w1"))!, new Error("no"));
    const late: string[] = [];
    await bench.queue().reclaimExpired({ onDeadLetter: ({ jobId }) => late.push(jobId) });
    expect((await dead.getJob(failing))?.status).toBe("dead_letter");
    expect(late).toEqual([]);
  });

  test("a worker that has nothing to do gives signs of life; a listener hears one event, or no more", async () => {
    const bench = open();
    const queue = bench.queue();
    let beats = 0;
    const beat = queue.beat.bind(queue);
    queue.beat = async () => {
      beats++;
      await beat();
    };
    const { worker } = bench.worker({ queue, handler: async () => {}, workerId: "w1" });
    const heard: string[] = [];
    const each = ({ jobId }: { jobId: string }) => heard.push(`on ${jobId}`);
    worker.on("job:completed", each);
    worker.once("job:completed", ({ jobId }) => heard.push(`once ${jobId}`));
    await worker.start();
    const first = await queue.enqueue({ type: "start" });
    await bench.until(() => heard.length === 2);
    const second = await queue.enqueue({ type: "start" });
    await bench.until(() => heard.length === 3);
    worker.off("job:completed", each);
    const third = await queue.enqueue({ type: "start" });
    await bench.until(async () => (await queue.getJob(third))?.status === "completed");
    expect(heard).toEqual([`on ${first}`, `once ${first}`, `on ${second}`]);
    await bench.until(() => beats > 1, 1_000);
    await bench.during(worker.stop());
  });
});

test("a worker takes any queue with the interface, without a store", async () => {
  const waiting = [{ id: "j1", runId: "r1", claimEpoch: 1, visibilityTimeoutMs: 60_000 } as ClaimedJob];
  const acked: string[] = [];
  const no = async () => false as const;
  const queue: WorkflowQueue = {
    enqueue: async () => "j1",
    dequeue: async () => waiting.shift() ?? null,
    ack: async (job) => acked.push(typeof job === "string" ? job : job.id) > 0,
    nack: no,
    heartbeat: async () => ({ ok: true }),
    release: no,
    handBack: no,
    reclaimExpired: async () => 0,
    getJob: async () => null,
    getQueueDepth: async () => ({ waiting: 0, active: 0, paused: 0, dead_letter: 0 }),
  };
  const { WorkflowWorker } = await import("../../src/compat/index.js");
  const worker = new WorkflowWorker({ queue, handler: async () => {}, pollIntervalMs: 5 });
  await worker.start();
  await expect.poll(() => acked).toEqual(["j1"]);
  await worker.stop();
});

// The workflow queue, verb by verb, on both stores.

import { describe, expect, test } from "vitest";
import type { ClaimedJob, WorkflowQueue } from "../../src/compat/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { type Bench, onBothStores, Unavailable, withRuns } from "./bench.js";

const start = { type: "start" } as const;

async function take(queue: WorkflowQueue, workerId = "w1"): Promise<ClaimedJob> {
  const job = await queue.dequeue(workerId);
  if (!job) throw new TypeError("the queue gave no job");
  return job;
}

const statusOf = async (queue: WorkflowQueue, id: string) => (await queue.getJob(id))?.status;

onBothStores((open) => {
  enqueueing(open);
  claiming(open);
  settling(open);
  failing(open);
  expiring(open);
  pausing(open);
});

function enqueueing(open: () => Bench) {
  describe("enqueue", () => {
    test("answers the id of a waiting job, with the defaults", async () => {
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

    test("in a transaction of one's own the job is there when that commits", async () => {
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

    test("refuses what it does not know, snake case with a hint", async () => {
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

    test("queues of other names and environments do not meet", async () => {
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
    test("an empty queue gives null", async () => {
      expect(await open().queue().dequeue("w1")).toBeNull();
    });

    test("the lowest number goes first, then the oldest", async () => {
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
      // A claim skips rows that another one is just taking; what was skipped is there for the next.
      for (let job = await queues[0]!.dequeue("w"); job; job = await queues[0]!.dequeue("w")) taken.push(job.id);
      expect(taken.sort()).toEqual(ids.sort());
    });

    test("a graph that nobody knows does not stop the queue", async () => {
      const bench = open();
      const queue = bench.queue();
      const unknown = await queue.enqueue({ ...start, graphId: "no such graph" });
      await bench.pass(1);
      const next = await queue.enqueue(start);
      expect((await take(queue)).id).toBe(unknown);
      expect((await take(queue)).id).toBe(next);
    });

    test("a job that cannot be read is retried and dead-lettered, and those behind it go on", async () => {
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

function settling(open: () => Bench) {
  describe("every move is guarded by the state and by the claim", () => {
    /** How a job gets into each status; answers its id and who may hold it. */
    const INTO: Record<string, (queue: WorkflowQueue, job: ClaimedJob) => Promise<unknown>> = {
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

    test("ids that nobody has are no-ops, whatever they look like", async () => {
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

    test("an ack that was written but not answered finds itself when it is repeated", async () => {
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

    test("a provider of one's own belongs to its queue object alone", async () => {
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

function expiring(open: () => Bench) {
  describe("visibility timeout", () => {
    test("a heartbeat extends by the job's timeout, or by what it is told", async () => {
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

    test("what a worker left is waiting again, in its old place, and the attempt counts", async () => {
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

    test("a late ack of a job that nobody took back counts", async () => {
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

    test("failures and crashes together never make more than all attempts", async () => {
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

    test("the store's clock decides: a process whose clock is hours off takes nothing back", async () => {
      const bench = open();
      const queue = bench.queue();
      const id = await queue.enqueue(start);
      await take(queue);
      const ahead = bench.queue({ world: new VirtualWorld({ startAt: Date.UTC(2099, 0, 1), seed: 7 }) });
      await bench.world.advance(10 * 3_600_000);
      expect(await ahead.reclaimExpired()).toBe(0);
      expect(await statusOf(ahead, id)).toBe("active");
    });

    test("claims of other programs that are over are not counted", async () => {
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
    test("pauses without costing an attempt, and dequeue passes it by", async () => {
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

    test("any process may ack a paused job, and a resume job goes on", async () => {
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

    test("a paused job that somebody cancels from outside has failed, and is not resumed", async () => {
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
    test("makes the resume job and ends the paused one, with all it was told and a higher epoch", async () => {
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

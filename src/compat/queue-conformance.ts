// The contract of a workflow queue as cases for any test runner:
// `for (const c of queueConformance) test(c.name, async () => c.run(await freshHarness()))`.

import { holds, matches, same, some } from "../testing/conformance/expect.js";
import type { ClaimedJob } from "./job.js";
import type { WorkflowQueue } from "./queue-contract.js";

/** Unused before, for each case. */
export interface QueueHarness {
  /** The queue under test, empty. */
  readonly queue: WorkflowQueue;
  /** Moves the clock that judges claims and back-offs; an adapter on a real clock may wait instead. */
  advance(ms: number): void | Promise<void>;
}

/** One case that every workflow queue must pass. */
export interface QueueCase {
  /** What the case shows. */
  readonly name: string;
  /** Throws `ConformanceFailure`. */
  run(harness: QueueHarness): Promise<void>;
}

const VISIBLE_MS = 1_000;
const PAST_MS = VISIBLE_MS + 100;
/** Longer than the first back-offs of a queue with its default settings. */
const BACKED_OFF_MS = 10_000;

const JOB = { type: "start", runId: "run-1", visibilityTimeoutMs: VISIBLE_MS } as const;

async function take(queue: WorkflowQueue, worker = "w1"): Promise<ClaimedJob> {
  return some(await queue.dequeue(worker), "a job to dequeue");
}

const named: Readonly<Record<string, (harness: QueueHarness) => Promise<void>>> = {
  "a job is handed out once, and ends when it is acked": async ({ queue }) => {
    const id = await queue.enqueue({ ...JOB, graphId: "g", initialState: { a: 1 } });
    matches(await queue.getJob(id), { status: "waiting", attempt: 0 }, "enqueued");
    const job = await take(queue);
    matches(job, { id, runId: "run-1", graphId: "g", attempt: 1, workerId: "w1" }, "dequeued");
    same(await queue.dequeue("w2"), null, "a second worker");
    same(await queue.ack(job, "w1"), true, "ack");
    matches(await queue.getJob(id), { status: "completed" }, "acked");
    same(await queue.nack(job, new TypeError("late"), "w1"), false, "nothing follows an ack");
  },

  "lower priority numbers come first, of those the oldest": async ({ queue, advance }) => {
    const ids: string[] = [];
    for (const [i, priority] of [5, 1, 1].entries()) {
      ids.push(await queue.enqueue({ ...JOB, runId: `run-${i}`, priority }));
      // Jobs of the same instant have no order.
      await advance(1);
    }
    const taken = [await take(queue), await take(queue), await take(queue)].map(({ id }) => id);
    same(taken, [ids[1], ids[2], ids[0]], "order");
  },

  "a failed job is tried again after a back-off, and is a dead letter after its last attempt": async ({
    queue,
    advance,
  }) => {
    const id = await queue.enqueue({ ...JOB, maxAttempts: 2 });
    same(await queue.nack(await take(queue), new TypeError("first")), "waiting", "first");
    await advance(BACKED_OFF_MS);
    const again = await take(queue);
    same(again.attempt, 2, "attempt");
    same(await queue.nack(again, new TypeError("second")), "dead_letter", "second");
    matches(await queue.getJob(id), { status: "dead_letter", lastError: "second" }, "dead");
    same(await queue.dequeue("w1"), null, "nothing is left");
  },

  "a claim that is not renewed is reclaimed, and its holder can do nothing any more": async ({ queue, advance }) => {
    await queue.enqueue(JOB);
    const late = await take(queue);
    await advance(PAST_MS);
    same(await queue.reclaimExpired(), 1, "reclaimed");
    const next = await take(queue, "w2");
    holds(next.claimEpoch > late.claimEpoch, "the epoch rises");
    same(await queue.ack(late, "w1"), false, "ack");
    same(await queue.nack(late, "no", "w1"), false, "nack");
    same(await queue.release(late, "w1"), false, "release");
    same(await queue.handBack(late, "w1"), false, "handBack");
    same(await queue.heartbeat(late, undefined, "w1"), { ok: false, reason: "lost" }, "heartbeat");
    same(await queue.ack(next, "w2"), true, "the new holder");
  },

  "a heartbeat keeps a claim": async ({ queue, advance }) => {
    await queue.enqueue(JOB);
    const job = await take(queue);
    for (let i = 0; i < 3; i++) {
      await advance(VISIBLE_MS * 0.6);
      same(await queue.heartbeat(job, undefined, "w1"), { ok: true }, "heartbeat");
    }
    same(await queue.reclaimExpired(), 0, "nothing has expired");
  },

  "a claim that is lost at the last attempt is a dead letter, and reported": async ({ queue, advance }) => {
    const id = await queue.enqueue({ ...JOB, maxAttempts: 1 });
    await take(queue);
    await advance(PAST_MS);
    const letters: string[] = [];
    await queue.reclaimExpired({ onDeadLetter: ({ jobId }) => letters.push(jobId) });
    same(letters, [id], "reported");
    matches(await queue.getJob(id), { status: "dead_letter" }, "dead");
  },

  "a released job is paused until it is acked, and costs no attempt; a handed back one waits": async ({ queue }) => {
    const id = await queue.enqueue(JOB);
    same(await queue.handBack(await take(queue)), true, "handBack");
    const job = await take(queue);
    same(job.attempt, 1, "attempt");
    same(await queue.release(job), true, "release");
    matches(await queue.getJob(id), { status: "paused" }, "paused");
    same(await queue.dequeue("w1"), null, "not handed out");
    matches(await queue.getQueueDepth(), { waiting: 0, active: 0, paused: 1 }, "depth");
    same(await queue.ack(id), true, "ack by any caller");
    matches(await queue.getJob(id), { status: "completed" }, "ended");
  },

  "the epoch belongs to the run: it rises over ack and an enqueued resume": async ({ queue }) => {
    const id = await queue.enqueue(JOB);
    const start = await take(queue);
    await queue.handBack(start);
    const again = await take(queue);
    await queue.release(again);
    await queue.ack(id);
    await queue.enqueue({ ...JOB, type: "resume", humanResponse: "yes" });
    const resumed = await take(queue, "w2");
    matches(resumed, { type: "resume", humanResponse: "yes" }, "resume");
    const epochs = [start, again, resumed].map(({ claimEpoch }) => claimEpoch);
    holds(epochs[0]! < epochs[1]! && epochs[1]! < epochs[2]!, `epochs ${epochs.join(", ")}`);
  },

  "start and resume of one run are never active together, those of other runs are": async ({ queue, advance }) => {
    await queue.enqueue(JOB);
    await queue.enqueue({ ...JOB, type: "resume", humanResponse: 1 });
    await advance(1);
    await queue.enqueue({ ...JOB, runId: "run-2" });
    const start = await take(queue);
    same((await take(queue, "w2")).runId, "run-2", "another run");
    same(await queue.dequeue("w2"), null, "the same run");
    matches(await queue.getQueueDepth(), { waiting: 1, active: 2 }, "depth");
    await queue.ack(start);
    matches(await take(queue, "w2"), { type: "resume", runId: "run-1" }, "afterwards");
  },
};

/** The cases that a workflow queue must pass. Run each with a new harness. */
export const queueConformance: readonly QueueCase[] = Object.entries(named).map(([name, run]) => ({ name, run }));

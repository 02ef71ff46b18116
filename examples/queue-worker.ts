// A workflow queue and its worker: a job stops at an approval, costs nothing meanwhile, and continues with the decision.
import { type ClaimedJob, type JobContext, Release, WorkflowWorker, workflowQueue } from "holdfast/compat";
import { memoryStore } from "holdfast/memory";

const queue = workflowQueue(memoryStore()); // in production: postgres(url)

async function handler(job: ClaimedJob, { signal }: JobContext) {
  signal.throwIfAborted(); // aborts when another worker owns the job now
  if (job.type === "start") return new Release(); // paused: a human must decide
  console.log(`${job.runId} continues: ${job.humanResponse}, claim epoch ${job.claimEpoch}`);
}

const worker = new WorkflowWorker({ queue, handler, concurrency: 2, pollIntervalMs: 20 });
const told = (name: "job:released" | "job:completed") =>
  new Promise<void>((resolve) => worker.on(name, () => resolve()));
const [released, completed] = [told("job:released"), told("job:completed")];
await worker.start();

const jobId = await queue.enqueue({ type: "start", runId: "order-1", graphId: "refund", priority: 0, maxAttempts: 3 });
await released;
console.log(await queue.getQueueDepth());
await queue.resume(jobId, "approved"); // ends the paused job and enqueues the resume job, once
await completed;
await worker.stop();
console.log((await queue.getJob(jobId))?.status);

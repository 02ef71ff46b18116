// What the suites of the queue share.

import type { ClaimedJob, WorkflowQueue } from "../../src/compat/index.js";

export const start = { type: "start" } as const;

export async function take(queue: WorkflowQueue, workerId = "w1"): Promise<ClaimedJob> {
  const job = await queue.dequeue(workerId);
  if (!job) throw new TypeError("the queue gave no job");
  return job;
}

export const statusOf = async (queue: WorkflowQueue, id: string) => (await queue.getJob(id))?.status;

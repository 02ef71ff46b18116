// What the suites of the queue share.

import type { ClaimedJob, StoreQueue } from "../../src/compat/index.js";

export const start = { type: "start" } as const;

export async function take(queue: StoreQueue, workerId = "w1"): Promise<ClaimedJob> {
  const job = await queue.dequeue(workerId);
  if (!job) throw new TypeError("the queue gave no job");
  return job;
}

export const statusOf = async (queue: StoreQueue, id: string) => (await queue.getJob(id))?.status;

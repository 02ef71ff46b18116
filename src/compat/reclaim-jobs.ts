// Reclaims jobs whose visibility timeout has expired: they wait again, or are dead-lettered after the last attempt.

import { HoldfastError } from "../kernel/error.js";
import { lookUpJob } from "./look-up-job.js";
import { jobRecord, type OnDeadLetter, type QueueParts } from "./queue-parts.js";

const PAGE = 500;

/**
 * Returns the number of jobs of this queue. The store reclaims for the whole env: expired claims of its other programs
 * are reclaimed, too.
 */
export async function reclaimJobs(parts: QueueParts, onDeadLetter?: OnDeadLetter): Promise<number> {
  await parts.workers.beat();
  let count = 0;
  for (;;) {
    const swept = await parts.store.runs.reclaimExpired({ env: parts.settings.group.env, limit: PAGE });
    for (const { runId: jobId, epoch, outcome } of swept) {
      if (!(await jobRecord(parts, jobId))) continue;
      count++;
      parts.held.dropTaken(jobId, epoch);
      if (outcome === "dead" && onDeadLetter) onDeadLetter(await deadLetterOf(parts, jobId));
    }
    if (swept.length < PAGE) return count;
  }
}

async function deadLetterOf(parts: QueueParts, jobId: string) {
  try {
    const job = await lookUpJob(parts, jobId);
    return { jobId, runId: job?.runId ?? jobId, error: job?.lastError ?? "" };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { jobId, runId: jobId, error: error.message };
  }
}

// Reclaims jobs whose visibility timeout has expired: they wait again, or are dead-lettered after the last attempt.

import { HoldfastError } from "../kernel/error.js";
import { lookUpJob, lostItsLastClaim } from "./look-up-job.js";
import { jobRecord, type OnDeadLetter, type QueueParts } from "./queue-parts.js";

const PAGE = 500;
/** The newest dead letters, among which those are looked for that no worker has reported. */
const DEAD_PAGE = 100;
/** How long it is remembered that a dead letter was reported. */
const REPORTED_MS = 365 * 86_400_000;

/**
 * Returns the number of jobs of this queue. The store reclaims for the whole env: expired claims of its other programs
 * are reclaimed, too. So a node, or the worker of another queue, may be the one that ends a job: such dead letters are found afterwards.
 */
export async function reclaimJobs(parts: QueueParts, onDeadLetter?: OnDeadLetter): Promise<number> {
  await parts.workers.beat();
  let count = 0;
  for (;;) {
    const swept = await parts.store.runs.reclaimExpired({ env: parts.settings.group.env, limit: PAGE });
    for (const { runId: jobId, epoch } of swept) {
      if (!(await jobRecord(parts, jobId))) continue;
      count++;
      parts.held.dropTaken(jobId, epoch);
    }
    if (swept.length < PAGE) break;
  }
  if (onDeadLetter) await reportDead(parts, onDeadLetter);
  return count;
}

/** Each is reported by one worker, whichever process reclaimed it. */
async function reportDead(parts: QueueParts, onDeadLetter: OnDeadLetter): Promise<void> {
  const { store, settings, examined, token } = parts;
  const { env, queue, program } = settings.group;
  const { runs } = await store.runs.list({ env, queue, program, states: ["dead"] }, { limit: DEAD_PAGE });
  for (const { id: jobId, epoch, group } of runs) {
    const life = `${jobId} ${epoch}`;
    if (examined.has(life) || group.stack !== settings.group.stack) continue;
    if (await lostItsLastClaim(parts, jobId)) {
      const taken = { env, key: `dead letter ${life}`, runId: jobId, call: token, keepMs: REPORTED_MS };
      const { outcome } = await store.runs.takeOutput(taken);
      if (outcome === "taken") onDeadLetter(await deadLetterOf(parts, jobId));
    }
    examined.add(life);
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

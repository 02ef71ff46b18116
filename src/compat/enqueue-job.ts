// Enqueues jobs: a new one, or the one that continues a paused job.

import { KeyConflict } from "../client/runs.js";
import { payloadHash } from "../kernel/codec/canonical.js";
import type { NewKey } from "../kernel/run/new-run.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { EnqueueInput } from "./job.js";
import { type JobInput, jobInput, readJobInput } from "./job-input.js";
import { ackedWhilePaused } from "./look-up-job.js";
import { jobRecord, type QueueParts } from "./queue-parts.js";
import { oneActive } from "./run-epoch.js";

export async function enqueueJob(parts: QueueParts, input: EnqueueInput, tx?: Transaction): Promise<string> {
  const { world, visibilityTimeoutMs } = parts.settings;
  const id = world.id();
  return insertJob(parts, id, jobInput(id, input, visibilityTimeoutMs), {
    priority: input.priority ?? 0,
    ...(tx && { tx }),
  });
}

/**
 * The decision on a paused job becomes its resume job, once: the paused job's id is the key, so the same decision again
 * returns the same job, and a different one is a KeyConflict. Null when there is no such job to resume.
 */
export async function resumeJob(parts: QueueParts, jobId: string, humanResponse: unknown): Promise<string | null> {
  const { store, settings } = parts;
  const record = await jobRecord(parts, jobId);
  const entries = (record && (await store.journal.read(jobId))?.entries) ?? [];
  const start = entries[0]?.payload;
  if (!record || !start) return null;
  // An acked pause is the second half of this very call, or an earlier clean-up.
  if (record.state !== "paused" && !ackedWhilePaused(settings.codecs, record, entries)) return null;
  const paused = readJobInput(settings.codecs, start);
  const input: JobInput = { ...paused, type: "resume", humanResponse };
  const key: NewKey = {
    scope: settings.group.program,
    key: `resume:${jobId}`,
    payloadHash: payloadHash(humanResponse, "humanResponse"),
    lifetime: "archived",
    onMismatch: "conflict",
  };
  return insertJob(parts, settings.world.id(), input, { priority: record.priority, key });
}

async function insertJob(
  parts: QueueParts,
  id: string,
  input: JobInput,
  { priority, key, tx }: { readonly priority: number; readonly key?: NewKey; readonly tx?: Transaction },
): Promise<string> {
  const { store, settings } = parts;
  const run = {
    id,
    group: settings.group,
    priority,
    delayMs: 0,
    crashLimit: input.maxAttempts,
    input: settings.codecs.encode(input, "job"),
    limits: [oneActive(parts, input.runId)],
    ...(key && { key }),
  };
  const [answer] = await store.runs.insert([run], tx ? { tx } : {});
  if (answer?.outcome === "refused") throw answer.error;
  if (answer?.outcome === "conflict") throw new KeyConflict(key!.key, answer.runId);
  return answer!.runId;
}

// Claims the next job. A job that cannot be handed out (unreadable, or all attempts used up) is settled here, so that
// it does not block the head of the queue.

import type { RunWriter } from "../engine/run-writer.js";
import { HoldfastError } from "../kernel/error.js";
import { ClaimLost, claimToken } from "../kernel/run/claim.js";
import type { ClaimRequest } from "../store/contract/claim/claiming.js";
import type { ClaimedRun } from "../store/contract/run/runs.js";
import type { HeldClaim } from "./held-claims.js";
import type { ClaimedJob } from "./job.js";
import { readJobInput } from "./job-input.js";
import { jobRecord, type OnDeadLetter, type QueueParts } from "./queue-parts.js";
import { nextEpoch } from "./run-epoch.js";
import { deadLetter, failureEffect, renewClaim } from "./settle-job.js";

/** Runs whose jobs are examined per empty poll. */
const ADMITTED_KEYS = 50;

export async function dequeueJob(
  parts: QueueParts,
  workerId: string,
  onDeadLetter?: OnDeadLetter,
): Promise<ClaimedJob | null> {
  const { store, settings } = parts;
  const owner = await parts.workers.signOn(workerId);
  const groupIds = [await parts.groupId()];
  for (;;) {
    const token = claimToken(settings.world.token(), owner);
    const request = { owner, token, groupIds, limit: 1, leaseMs: settings.visibilityTimeoutMs };
    const run = (await store.runs.claim(request))[0] ?? (await claimAdmitted(parts, request));
    if (!run) return null;
    const held = await open(parts, run, workerId, onDeadLetter);
    if (held) {
      parts.held.add(held);
      return held.job;
    }
  }
}

/** A job that was enqueued in a caller's transaction, or whose predecessor died, is not claimable before it is admitted. */
async function claimAdmitted({ store, settings }: QueueParts, request: ClaimRequest): Promise<ClaimedRun | undefined> {
  const admitted = await store.runs.admit({ env: settings.group.env, keys: ADMITTED_KEYS });
  return admitted > 0 ? (await store.runs.claim(request))[0] : undefined;
}

/** Null when the job is already settled, or when another worker holds it by now. */
async function open(
  parts: QueueParts,
  run: ClaimedRun,
  workerId: string,
  onDeadLetter?: OnDeadLetter,
): Promise<HeldClaim | null> {
  const writer = parts.committer.open(run, run.seq);
  const job = await readJob(parts, { run, writer, workerId }, onDeadLetter);
  if (!job) return null;
  if (job.attempt > job.maxAttempts) {
    const error = `all ${job.maxAttempts} attempts are used up; the last claim ended without an answer`;
    const reason = parts.settings.codecs.encode({ name: "AttemptsExhausted", message: error });
    if (await written(writer, deadLetter(reason))) onDeadLetter?.({ jobId: job.id, runId: job.runId, error });
    return null;
  }
  // The claim was made before the job's own timeout was known; and one that was lost before its epoch was taken would have a higher
  // epoch than the claim that replaced it.
  return (await renewClaim(parts, run, job.visibilityTimeoutMs)) ? { job, claim: run, writer } : null;
}

async function readJob(
  parts: QueueParts,
  { run, writer, workerId }: { readonly run: ClaimedRun; readonly writer: RunWriter; readonly workerId: string },
  onDeadLetter?: OnDeadLetter,
): Promise<ClaimedJob | null> {
  const attempt = attemptOf(run);
  try {
    const input = readJobInput(parts.settings.codecs, run.input);
    const { runId: id, priority, claimedAt, token } = run;
    const claimEpoch = await nextEpoch(parts, input.runId, workerId, token);
    return {
      ...input,
      id,
      priority,
      attempt,
      status: "active",
      workerId,
      claimEpoch,
      claimedAt,
    };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    // Another node may have the codec: retried like any failure, and dead in the end.
    const record = await jobRecord(parts, run.runId);
    const effect = failureEffect(parts, attempt, record?.crashLimit ?? attempt, error);
    if ((await written(writer, effect)) && effect.kind === "fail") {
      onDeadLetter?.({ jobId: run.runId, runId: run.runId, error: error.message });
    }
    return null;
  }
}

/** Reported failures, and claims that ended without an answer, including the current one. */
export function attemptOf(run: { readonly failures: number; readonly crashes: number }): number {
  return run.failures + run.crashes;
}

async function written(writer: RunWriter, effect: Parameters<RunWriter["commit"]>[0][0]): Promise<boolean> {
  try {
    await writer.commit([effect]);
    return true;
  } catch (error) {
    if (error instanceof ClaimLost) return false;
    throw error;
  }
}

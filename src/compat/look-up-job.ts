// Reads one job: its row, and the errors in its journal.

import type { Codecs } from "../kernel/codec/codecs.js";
import { isEnded } from "../kernel/run/run-state.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import { attemptOf } from "./dequeue-job.js";
import { statusOf, type WorkflowJob } from "./job.js";
import { readJobInput } from "./job-input.js";
import { jobRecord, type QueueParts } from "./queue-parts.js";
import { lastEpoch } from "./run-epoch.js";

/** Recorded as the one who cancels a paused run when its job is acked: there is no holder to complete it. */
export const ACKED_BY = "workflow-queue: ack of a paused job";

export async function lookUpJob(parts: QueueParts, jobId: string): Promise<WorkflowJob | null> {
  const { store, settings, workers } = parts;
  const record = await jobRecord(parts, jobId);
  const entries = (record && (await store.journal.read(jobId))?.entries) ?? [];
  const start = entries[0];
  if (!record || !start?.payload) return null;
  const input = readJobInput(settings.codecs, start.payload);
  return {
    ...input,
    id: record.id,
    priority: record.priority,
    attempt: isEnded(record.state) ? countedClaims(record, entries) : attemptOf(record),
    status: ackedWhilePaused(settings.codecs, record, entries) ? "completed" : statusOf(record.state),
    workerId: record.owner === null ? null : await workers.nameOf(record.owner),
    claimEpoch: record.epoch === 0 ? null : await lastEpoch(parts, input.runId),
    createdAt: record.createdAt,
    visibleAt: visibleAt(record),
    lastError: lastError(settings.codecs, entries),
  };
}

/** The store ended it because its last claim was lost: no worker has reported that. */
export async function lostItsLastClaim({ store, settings }: QueueParts, jobId: string): Promise<boolean> {
  const payload = (await store.journal.read(jobId))?.entries.findLast(({ kind }) => kind === "dead")?.payload;
  return payload ? (settings.codecs.decode(payload) as { code?: unknown }).code === "CRASH_LIMIT" : false;
}

function visibleAt({ state, availableAt, leaseUntil }: RunRecord): number | null {
  return state === "waiting" ? availableAt : leaseUntil;
}

/** The row of an ended run no longer has its last claims: counts all claims, without those that cost nothing. */
function countedClaims({ epoch }: RunRecord, entries: readonly JournalEntry[]): number {
  return epoch - entries.filter(({ kind }) => kind === "handed-back" || kind === "paused").length;
}

/** The job had been released, and was then cleaned up or resumed. */
export function ackedWhilePaused(codecs: Codecs, { state }: RunRecord, entries: readonly JournalEntry[]): boolean {
  const payload = state === "cancelled" ? entries.at(-1)?.payload : null;
  return payload ? (codecs.decode(payload) as { by?: unknown }).by === ACKED_BY : false;
}

function lastError(codecs: Codecs, entries: readonly JournalEntry[]): string | null {
  const entry = entries.findLast(({ kind }) => kind === "retry" || kind === "dead");
  if (!entry?.payload) return null;
  const error = codecs.decode(entry.payload) as { message?: unknown; code?: unknown; crashes?: unknown };
  if (typeof error.message === "string") return error.message;
  return `${String(error.code)}: ${String(error.crashes)} claims in a row ended without an answer`;
}

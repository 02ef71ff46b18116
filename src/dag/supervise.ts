// What a run does while it waits for its own tasks: takes in messages, reads the tasks' states, parks for the rest.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { Payload } from "../kernel/codec/payload.js";
import type { Effect, ParkEffect } from "../kernel/run/effect.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { type Outcome, outcomeOf } from "./outcome.js";

export interface OwnTask {
  readonly name: string;
  readonly runId: string;
  /** Null: the task has not ended. */
  readonly outcome: Outcome | null;
  /** Whether it was cancelled. */
  readonly cancelled: boolean;
  /** It ended before the run was retried last. */
  readonly beforeRetry?: boolean;
}

export interface Mail {
  readonly takes: readonly Effect[];
  /** The cancellation request, if there is one. */
  readonly cancelled: Payload | null;
  readonly paused: boolean;
  readonly seenInboxSeq: number;
}

/** All unread messages are taken in with the next commit. */
export async function openMail(session: Session, history: readonly JournalEntry[], codecs: Codecs): Promise<Mail> {
  const seenInboxSeq = session.inboxSeq;
  const isNews = session.run.hasMessages || seenInboxSeq > session.run.inboxSeq || session.newsCount > 0;
  const unread = isNews ? await session.unread() : [];
  const request = unread.find(({ key }) => key === "cancel") ?? asked(history);
  return {
    takes: unread.map(({ key, messageId }) => ({ kind: "take", messageKey: key, messageId })),
    cancelled: request ? (request.payload ?? codecs.encode(null)) : null,
    paused: unread.some(({ kind }) => kind === "pause"),
    seenInboxSeq,
  };
}

/** A retry voids an earlier cancellation. */
function asked(history: readonly JournalEntry[]): JournalEntry | undefined {
  const since = history.findLastIndex(({ kind }) => kind === "retried");
  return history.slice(since + 1).find(({ kind, key }) => kind === "take" && key === "cancel");
}

/** The tasks named in the journal, with their outcomes. */
export async function lookAtTasks(
  session: Session,
  history: readonly JournalEntry[],
  codecs: Codecs,
): Promise<readonly OwnTask[]> {
  const started = history.filter(({ kind }) => kind === "task");
  const retriedAt = history.findLast(({ kind }) => kind === "retried")?.at ?? Number.NEGATIVE_INFINITY;
  const ends = await session.peek(started.map(({ key }) => ({ runId: key!, what: "end" })));
  return started.map(({ name, key }, i) => ({
    name,
    runId: key!,
    outcome: outcomeOf(ends[i], codecs),
    cancelled: ends[i]?.state === "cancelled",
    beforeRetry: (ends[i]?.entry?.at ?? retriedAt) < retriedAt,
  }));
}

/** Single failures do not wake the run. */
const NEVER = 2 ** 31 - 1;

export function parkForTasks(
  { seenInboxSeq }: Mail,
  options: { readonly wakeInMs?: number | null; readonly onFailure?: boolean } = {},
): ParkEffect {
  const { wakeInMs = null, onFailure = false } = options;
  return { kind: "park", wakeInMs, wakeAfter: onFailure ? 1 : NEVER, seenInboxSeq, forTasks: true };
}

// Finds the open waits in a journal: sleeps, signals with a deadline, approvals, children. A wait for a signal without
// a deadline leaves no entry.

import { childOf } from "../replay/children.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { openApprovals } from "./open-approvals.js";
import { decode } from "./text/payload-text.js";

export interface PendingWait {
  readonly kind: "sleep" | "signal" | "approval" | "child";
  readonly name: string;
  /** The question, or the child's id. */
  readonly detail: string | null;
  readonly deadline: number | null;
}

export function pendingWaits(entries: readonly JournalEntry[]): PendingWait[] {
  const approvals = openApprovals(entries).map(({ name, ask, plan, choices, to, deadline }): PendingWait => {
    const shown = plan === undefined ? ask : `${ask} Plan: ${JSON.stringify(plan)}`;
    const detail = `${shown} (${choices.join(", ")})${to === null ? "" : ` asked of ${to}`}`;
    return { kind: "approval", name, detail, deadline };
  });
  return [...approvals, ...entries.flatMap((entry) => pendingWait(entry, entries) ?? [])];
}

function pendingWait(entry: JournalEntry, entries: readonly JournalEntry[]): PendingWait | null {
  const { kind, name, key } = entry;
  if (kind === "sleep.begun" && !isThere(entries, { kind: "sleep", name, key })) {
    return { kind: "sleep", name, detail: null, deadline: deadlineOf(entry) };
  }
  if (kind === "wait.begun" && !isAnswered(entries, entry)) {
    return { kind: "signal", name, detail: null, deadline: deadlineOf(entry) };
  }
  if (kind === "enqueue" && !entries.some((other) => other.kind === "take" && childOf(other.key) === key)) {
    return { kind: "child", name, detail: key, deadline: null };
  }
  return null;
}

/** The nth signal of a name ends the nth wait for it that did not expire. */
function isAnswered(entries: readonly JournalEntry[], { name, key }: JournalEntry): boolean {
  const ofName = entries.filter((entry) => entry.name === name);
  const expired = ofName.filter(({ kind }) => kind === "wait.expired").map((entry) => entry.key);
  if (expired.includes(key)) return true;
  // A graph's wait is named after its node, whose own entry says when the wait has ended.
  if (key?.includes(":")) return entries.some((entry) => entry.kind === "node" && `${entry.name}:${entry.key}` === key);
  const signals = ofName.filter((entry) => entry.kind === "take" && entry.key?.startsWith("signal:")).length;
  const expiredBefore = expired.filter((other) => Number(other) < Number(key)).length;
  return Number(key) - expiredBefore <= signals;
}

function isThere(entries: readonly JournalEntry[], wanted: Partial<JournalEntry>): boolean {
  return entries.some(
    ({ kind, name, key }) =>
      kind === wanted.kind && key === wanted.key && (wanted.name === undefined || name === wanted.name),
  );
}

function deadlineOf({ payload, at }: JournalEntry): number | null {
  const decoded = payload && decode(payload);
  const ms = decoded && "value" in decoded ? (decoded.value as { ms?: unknown } | null)?.ms : undefined;
  return typeof ms === "number" ? at + ms : null;
}

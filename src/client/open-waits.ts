// What a parked run waits for, by the last entries of its journal.

import type { OutlineEntry } from "../store/contract/view/views.js";

/** Entries that begin a wait, and those of the same name and key that end it. */
const ENDS: Readonly<Record<string, string | null>> = {
  "sleep.begun": "sleep",
  "wait.begun": "wait.expired",
  "approval.begun": null,
  enqueue: null,
};

/** How many of its last entries show what a parked run waits for. */
export const WAIT_ENTRIES = 20;

/** The entries that began what is still waited for, the oldest first; none: the last entries do not show it. */
export function openWaits(entries: readonly OutlineEntry[]): readonly OutlineEntry[] {
  return entries.filter((entry) => entry.kind in ENDS && !isOver(entry, entries));
}

function isOver({ kind, name, key, seq }: OutlineEntry, entries: readonly OutlineEntry[]): boolean {
  const later = entries.filter((entry) => entry.seq > seq);
  if (kind === "enqueue") return later.some((entry) => entry.key === `child:${key}`);
  if (kind === "approval.begun") return later.some((entry) => entry.key?.startsWith(`wait:${name}:${key}`));
  const isSignal = (entry: OutlineEntry) => kind === "wait.begun" && entry.kind === "take" && entry.name === name;
  return later.some(
    (entry) => isSignal(entry) || (entry.kind === ENDS[kind] && entry.name === name && entry.key === key),
  );
}

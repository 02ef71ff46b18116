// What a journal says about the calls of a function: which have begun, which have ended, in which order.

import type { JournalEntry } from "../store/contract/journal.js";

/** A call's identity: kind, name and key. A recorded call is never made again. */
export type CallId = string;

export function callId(kind: string, name: string, key: string): CallId {
  return JSON.stringify([kind, name, key]);
}

/** An entry that ends a call: the one it names, or, for a signal, the first open wait for it. */
export interface Ending {
  readonly id: CallId | null;
  readonly entry: JournalEntry;
}

export interface Recorded {
  readonly start: JournalEntry;
  /** In the order of the journal: the order in which the function was told. */
  readonly endings: readonly Ending[];
  /** Calls that wait for something: when they began, and with what. */
  readonly begun: ReadonlyMap<CallId, JournalEntry>;
  /** Failed tries of calls that have not ended. */
  readonly tries: ReadonlyMap<CallId, number>;
  /** Messages that were taken in, by their key in the inbox. */
  readonly messages: ReadonlyMap<string, JournalEntry>;
}

/** Entries that end a call: the kind of the call. */
const ENDS: Readonly<Record<string, string>> = {
  step: "step",
  "step.failed": "step",
  sleep: "sleep",
  "wait.expired": "wait",
  value: "value",
  progress: "progress",
  child: "child",
};
const BEGINS: Readonly<Record<string, string>> = {
  "step.begun": "step",
  "sleep.begun": "sleep",
  "wait.begun": "wait",
  "approval.begun": "approval",
};

export function readRecorded(entries: readonly JournalEntry[]): Recorded {
  const endings: Ending[] = [];
  const begun = new Map<CallId, JournalEntry>();
  const tries = new Map<CallId, number>();
  const messages = new Map<string, JournalEntry>();
  const children = new Map<string, number>();
  for (const entry of entries) {
    const { kind, name, key } = entry;
    if (Object.hasOwn(ENDS, kind)) endings.push({ id: callId(ENDS[kind]!, name, key!), entry });
    else if (Object.hasOwn(BEGINS, kind)) begun.set(callId(BEGINS[kind]!, name, key!), entry);
    else if (kind === "enqueue") {
      // Its key is the child's id: the nth child of a name belongs to the nth call.
      const n = (children.get(name) ?? 0) + 1;
      children.set(name, n);
      begun.set(callId("child", name, String(n)), entry);
    } else if (kind === "step.tried") {
      const id = callId("step", name, key!);
      tries.set(id, (tries.get(id) ?? 0) + 1);
    } else if (kind === "take") {
      messages.set(key!, entry);
      const ending = endingOf(entry);
      if (ending) endings.push(ending);
    }
  }
  return { start: entries[0]!, endings, begun, tries, messages };
}

/** What a message ends, if anything: a signal the next wait for it, a decision or its timeout the approval it names. */
export function endingOf(entry: JournalEntry): Ending | null {
  const { key, name } = entry;
  if (key?.startsWith("signal:")) return { id: null, entry };
  if (key?.startsWith("wait:"))
    return { id: callId("approval", name, key.slice("wait:".length + name.length + 1)), entry };
  return null;
}

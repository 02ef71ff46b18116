// What a journal says about the calls of a function: which have begun, which have ended, in which order.

import type { JournalEntry } from "../store/contract/journal.js";

/** A call's identity: kind, name and key. A recorded call is never made again. */
export type CallId = string;

export function callId(kind: string, name: string, key: string): CallId {
  return JSON.stringify([kind, name, key]);
}

/** How a call ended. */
export interface Ending {
  readonly id: CallId;
  readonly entry: JournalEntry;
}

export interface Recorded {
  readonly input: JournalEntry;
  /** In the order of the journal: the order in which the function was told. */
  readonly endings: readonly Ending[];
  /** Calls that wait for something: when they began, and with which deadline. */
  readonly begun: ReadonlyMap<CallId, JournalEntry>;
  /** Failed tries of calls that have not ended. */
  readonly tries: ReadonlyMap<CallId, number>;
}

/** Entries that end a call, by kind of entry: the kind of the call. */
const ENDS: Readonly<Record<string, string>> = {
  step: "step",
  "step.failed": "step",
  sleep: "sleep",
  "wait.expired": "wait",
  value: "value",
};
const BEGINS: Readonly<Record<string, string>> = { "sleep.begun": "sleep", "wait.begun": "wait" };

/** Which wait a signal ends: the nth of its name ends the nth wait that did not expire, in the order of acceptance. */
export class Waits {
  readonly #expired: Set<CallId>;
  readonly #last = new Map<string, number>();

  constructor(entries: readonly JournalEntry[]) {
    const expired = entries.filter(({ kind }) => kind === "wait.expired");
    this.#expired = new Set(expired.map(({ name, key }) => callId("wait", name, key!)));
  }

  next(name: string): CallId {
    let n = (this.#last.get(name) ?? 0) + 1;
    while (this.#expired.has(callId("wait", name, String(n)))) n++;
    this.#last.set(name, n);
    return callId("wait", name, String(n));
  }

  expire(id: CallId): void {
    this.#expired.add(id);
  }
}

export function readRecorded(entries: readonly JournalEntry[], waits: Waits): Recorded {
  const endings: Ending[] = [];
  const begun = new Map<CallId, JournalEntry>();
  const tries = new Map<CallId, number>();
  for (const entry of entries) {
    const { kind, name, key } = entry;
    if (Object.hasOwn(ENDS, kind)) endings.push({ id: callId(ENDS[kind]!, name, key!), entry });
    else if (Object.hasOwn(BEGINS, kind)) begun.set(callId(BEGINS[kind]!, name, key!), entry);
    else if (kind === "step.tried") {
      const id = callId("step", name, key!);
      tries.set(id, (tries.get(id) ?? 0) + 1);
    } else if (kind === "take" && key?.startsWith("signal:")) endings.push({ id: waits.next(name), entry });
  }
  return { input: entries[0]!, endings, begun, tries };
}

// Reads from a journal which calls have begun, which have ended, and in which order.

import type { JournalEntry } from "../store/contract/journal/journal.js";

/** A call's identity: kind, name and key. A recorded call is never made again. */
export type CallId = string;

/** The length keeps two names apart that continue in their keys. Computed for every call and every recorded entry. */
export function callId(kind: string, name: string, key: string): CallId {
  return `${kind} ${name.length} ${name} ${key}`;
}

/** The kind, name and key of which an id was made. */
export function readCallId(id: CallId): readonly [kind: string, name: string, key: string] {
  const [kind, length] = id.split(" ", 2) as [string, string];
  const at = kind.length + length.length + 2;
  const end = at + Number(length);
  return [kind, id.slice(at, end), id.slice(end + 1)];
}

/** An entry that ends a call: the call it names or, for a signal, the first open wait for it. */
export interface Ending {
  readonly id: CallId | null;
  readonly entry: JournalEntry;
}

/** Failed attempts of a call that has not ended. */
export interface Tries {
  readonly count: number;
  readonly last: JournalEntry;
}

export interface Recorded {
  readonly start: JournalEntry;
  /** When the run was started or retried by an operator: its timeout counts from here. */
  readonly since: number;
  /** In journal order, which is the order in which the function received them. */
  readonly endings: readonly Ending[];
  /** Calls that wait: when they began, and with what payload. */
  readonly begun: ReadonlyMap<CallId, JournalEntry>;
  readonly tries: ReadonlyMap<CallId, Tries>;
  /** Messages that were taken in, by their inbox key. */
  readonly messages: ReadonlyMap<string, JournalEntry>;
  /** How many children of each program were started. */
  readonly children: ReadonlyMap<string, number>;
}

/** Kinds of entries that end, begin or try a call. The kind of the call is the part before the dot. */
const ENDS = new Set(["step", "transaction", "sleep", "value", "progress", "patched", "set", "child"]);
const FAILS = new Set(["step.failed", "transaction.failed", "wait.expired", "child.failed"]);
const BEGINS = new Set(["step.begun", "sleep.begun", "wait.begun", "approval.begun"]);
const TRIES = new Set(["step.tried", "transaction.tried", "node.tried", "item.tried"]);

/** Most runs are claimed with nothing but their start in the journal. */
function onlyStart(start: JournalEntry): Recorded {
  return { start, since: start.at, endings: NO_ENDINGS, begun: NONE, tries: NONE, messages: NONE, children: NONE };
}

const NO_ENDINGS: readonly Ending[] = [];
const NONE: ReadonlyMap<string, never> = new Map<string, never>();

/** `baseSeq`: where the generation's journal begins, when these entries are only a part of it. */
export function readRecorded(entries: readonly JournalEntry[], baseSeq = entries[0]!.seq - 1): Recorded {
  if (entries.length === 1 && entries[0]!.kind === "start") return onlyStart(entries[0]!);
  const endings: Ending[] = [];
  const begun = new Map<CallId, JournalEntry>();
  const tries = new Map<CallId, Tries>();
  const messages = new Map<string, JournalEntry>();
  const children = new Map<string, number>();
  let since = entries[0]!.at;
  for (const entry of entries) {
    const { kind, name, key } = entry;
    const id = callId(kind.split(".")[0]!, name, key!);
    if (ENDS.has(kind) || FAILS.has(kind)) endings.push({ id, entry });
    else if (kind === "cancelling") endings.push({ id: null, entry });
    else if (BEGINS.has(kind)) begun.set(id, entry);
    else if (TRIES.has(kind)) {
      tries.set(id, { count: (tries.get(id)?.count ?? 0) + 1, last: entry });
    } else if (kind === "enqueue") {
      // The key is the child's id, so the nth child of a name is matched to the nth call, unless the entry names another.
      const n = (children.get(name) ?? 0) + 1;
      children.set(name, n);
      begun.set(callId("child", name, entry.payload?.data ?? String(n)), entry);
    } else if (kind === "take") {
      messages.set(key!, entry);
      const ending = endingOf(entry, baseSeq);
      if (ending) endings.push(ending);
    } else if (kind === "retried" || kind === "retry") {
      if (kind === "retried") since = entry.at;
      if (kind === "retried" && isBareTimeout(endings, begun, tries)) endings.pop();
      forgetLastFailures(endings, begun);
      tries.clear();
    }
  }
  return { start: entries[0]!, since, endings, begun, tries, messages, children };
}

/**
 * After an operator's retry, or when the function is tried again as a whole, failures at the end of the journal are
 * tried again. Children that were started before such a failure and ended after it are not more than it: the function
 * has done nothing in between.
 */
function forgetLastFailures(endings: Ending[], begun: ReadonlyMap<CallId, JournalEntry>): void {
  const kept: Ending[] = [];
  let startedAt = 0;
  for (let last = endings.at(-1); last; last = endings.at(-1)) {
    const { entry, id } = last;
    const isFailure = entry.kind.endsWith(".failed") && startedAt < entry.seq;
    if (!isFailure && entry.kind !== "child") break;
    endings.pop();
    if (isFailure) continue;
    kept.unshift(last);
    startedAt = Math.max(startedAt, begun.get(id!)?.seq ?? Number.POSITIVE_INFINITY);
  }
  endings.push(...kept);
}

/** The run timed out, and did nothing to clean up: retried, it continues where it was. */
function isBareTimeout(
  endings: readonly Ending[],
  begun: ReadonlyMap<CallId, JournalEntry>,
  tries: ReadonlyMap<CallId, Tries>,
): boolean {
  const last = endings.at(-1)?.entry;
  if (last?.kind !== "cancelling" || last.name !== "timeout") return false;
  const others = [...begun.values(), ...[...tries.values()].map((one) => one.last)];
  return others.every(({ seq }) => seq < last.seq);
}

/**
 * The call a message ends, if any: a signal ends the next wait for it, a decision or its timeout the approval it names.
 */
export function endingOf(entry: JournalEntry, baseSeq: number): Ending | null {
  const { key, name } = entry;
  if (key?.startsWith("signal:")) return { id: null, entry };
  if (!key?.startsWith("wait:")) return null;
  const nth = key.slice("wait:".length + name.length + 1).split("@")[0]!;
  // A decision for an earlier generation does not count in this one.
  return key === waitKey(name, nth, baseSeq) ? { id: callId("approval", name, nth), entry } : null;
}

/** The inbox key shared by a decision and its timeout: the first wins. It differs in each generation. */
export function waitKey(name: string, nth: string, baseSeq: number): string {
  return baseSeq === 0 ? `wait:${name}:${nth}` : `wait:${name}:${nth}@${baseSeq}`;
}

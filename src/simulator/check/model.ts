// The checkers' own model of the store, folded from the applied operations and their answers.

import type { Payload } from "../../kernel/codec/payload.js";
import type { NewLimit } from "../../kernel/run/new-run.js";
import type { RunState } from "../../kernel/run/run-state.js";
import type { MessageKind } from "../../store/contract/inbox/inbox.js";

export interface ModelEntry {
  readonly seq: number;
  readonly token: string | null;
  readonly kind: string;
  readonly name: string;
  readonly key: string | null;
  readonly payload: Payload | null;
  /** On the database's clock. */
  readonly atUs: number;
  /** In virtual time. */
  readonly at: number;
}

export interface ModelMessage {
  readonly key: string;
  readonly messageId: string;
  readonly kind: MessageKind;
  readonly name: string;
  readonly payload: Payload | null;
  /** 0: the run ended without reading it. */
  takenSeq: number | null;
}

export interface ModelRun {
  readonly id: string;
  readonly env: string;
  readonly program: string;
  readonly crashLimit: number;
  readonly parentId: string | null;
  readonly limits: readonly NewLimit[];
  /** It is a task, and these are the runs it needs; null when it is none. */
  readonly needs: readonly string[] | null;
  state: RunState;
  epoch: number;
  token: string | null;
  /** Who was granted the last claim. */
  owner: string | null;
  leaseUntilUs: number;
  availableAtUs: number;
  /** Virtual time. */
  waitingSince: number;
  wakeAtUs: number | null;
  seq: number;
  /** The journal up to here belongs to earlier generations. */
  baseSeq: number;
  generation: number;
  /** Claims in a row without committed progress whose holders died, the present one included. */
  streak: number;
  /** The reclaimed claims among them, and their holders; without holders that showed a sign of life later. */
  taken: Taken[];
  readonly grants: { readonly epoch: number; readonly token: string; readonly at: number }[];
  readonly journal: ModelEntry[];
  readonly messages: ModelMessage[];
}

export interface Taken {
  /** The incarnation, as the store knows it. */
  readonly owner: string;
  /** In virtual time. */
  readonly at: number;
}

/** The last event of a subject, and the run that is to begin with it. */
export interface Gathering {
  readonly runId: string;
  readonly payload: Payload;
  /** On the database's clock. */
  readonly atUs: number;
}

export interface Probe {
  readonly runId: string;
  readonly atUs: number;
}

/** Kinds of entries that end a call, each call once. */
const ENDS: Readonly<Record<string, string>> = {
  step: "step",
  "step.failed": "step",
  transaction: "transaction",
  "transaction.failed": "transaction",
  sleep: "sleep",
  "wait.expired": "wait",
  value: "value",
  patched: "patched",
  child: "child",
  "child.failed": "child",
  node: "node",
  "node.failed": "node",
  item: "item",
  "item.failed": "item",
};

/** The call that an entry ends; null when it ends none by name. */
export function endedCall({ kind, name, key }: { kind: string; name: string; key: string | null }): string | null {
  return Object.hasOwn(ENDS, kind) ? `${ENDS[kind]} ${name}:${key}` : null;
}

/** In the current generation. What an operator had tried again has not. */
export function hasEnded(run: ModelRun, call: string): boolean {
  return endingsOf(run.journal.slice(run.baseSeq), run.baseSeq).some((entry) => endedCall(entry) === call);
}

/** The endings of one generation's log, in order: of calls by name, of waits by a message. */
export function endingsOf(entries: readonly ModelEntry[], baseSeq: number): ModelEntry[] {
  let endings: ModelEntry[] = [];
  for (const entry of entries) {
    if (entry.kind === "retried") {
      endings = withoutLastFailures(endings, entries);
      // Branches and items of a graph end in any order: all that failed are tried again.
      endings = endings.filter(({ kind }) => kind !== "node.failed" && kind !== "item.failed");
    } else if (endedCall(entry) || endsWait(entry, baseSeq)) endings.push(entry);
  }
  return endings;
}

/** Children that were started before the failure and ended after it do not keep it: the function has done nothing since. */
function withoutLastFailures(endings: readonly ModelEntry[], entries: readonly ModelEntry[]): ModelEntry[] {
  const left = [...endings];
  const kept: ModelEntry[] = [];
  let startedAt = 0;
  for (let last = left.at(-1); last; last = left.at(-1)) {
    const isFailure = last.kind.endsWith(".failed") && startedAt < last.seq;
    if (!isFailure && last.kind !== "child") break;
    left.pop();
    if (isFailure) continue;
    kept.unshift(last);
    const { name, key } = last;
    const started = entries.filter((entry) => entry.kind === "enqueue" && entry.name === name)[Number(key) - 1];
    startedAt = Math.max(startedAt, started?.seq ?? Number.POSITIVE_INFINITY);
  }
  return [...left, ...kept];
}

function endsWait({ kind, key }: ModelEntry, baseSeq: number): boolean {
  if (kind !== "take") return false;
  return key!.startsWith("signal:") || (key!.startsWith("wait:") && decidedIn(key!) === baseSeq);
}

/** The generation whose approval this message decides, as its base: `wait:name:nth@base`. */
export function decidedIn(key: string): number {
  const at = key.lastIndexOf("@");
  return at === -1 ? 0 : Number(key.slice(at + 1));
}

/** Where the key of a decision names its approval: `name:nth`. */
export function decidedCall(key: string): string {
  const at = key.lastIndexOf("@");
  return key.slice("wait:".length, at === -1 ? undefined : at);
}

/** News of children may wait for more of their kind; everything else calls at once. */
export function mustWake({ messages }: ModelRun): boolean {
  return messages.some(({ takenSeq, kind }) => takenSeq === null && kind !== "child");
}

// The checkers' own picture of the store, folded from the operations it carried out and their answers.

import type { NewLimit } from "../../kernel/new-run.js";
import type { Payload } from "../../kernel/payload.js";
import type { RunState } from "../../kernel/run-state.js";
import type { MessageKind } from "../../store/contract/inbox.js";

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
  readonly program: string;
  readonly crashLimit: number;
  readonly parentId: string | null;
  readonly limits: readonly NewLimit[];
  state: RunState;
  epoch: number;
  token: string | null;
  leaseUntilUs: number;
  availableAtUs: number;
  wakeAtUs: number | null;
  seq: number;
  /** Claims in a row without committed progress. */
  streak: number;
  readonly grants: { readonly epoch: number; readonly token: string; readonly at: number }[];
  readonly journal: ModelEntry[];
  readonly messages: ModelMessage[];
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
  child: "child",
};

/** The call that an entry ends; null when it ends none by name. */
export function endedCall({ kind, name, key }: { kind: string; name: string; key: string | null }): string | null {
  return Object.hasOwn(ENDS, kind) ? `${ENDS[kind]} ${name}:${key}` : null;
}

export function hasEnded(run: ModelRun, call: string): boolean {
  return run.journal.some((entry) => endedCall(entry) === call);
}

/** News of children may wait for more of their kind; everything else calls at once. */
export function mustWake({ messages }: ModelRun): boolean {
  return messages.some(({ takenSeq, kind }) => takenSeq === null && kind !== "child");
}

// How a need ended, from the last entry of its run, for the task that needs it.

import type { Codecs } from "../kernel/codec/codecs.js";
import { decodeError, type RecordedError, type StoredError } from "../kernel/codec/recorded-error.js";
import type { RunState } from "../kernel/run/run-state.js";
import { type CrashReason, crashLimit } from "../kernel/run/suspicion.js";
import type { Peeked } from "../store/contract/journal/journal.js";

export type Outcome<T = unknown> =
  | { readonly state: "succeeded"; readonly value: T }
  /** Also when it was cancelled or is dead: the error's code says which. */
  | { readonly state: "failed"; readonly error: RecordedError }
  | { readonly state: "skipped" };

/** Null: it has not ended. */
export function outcomeOf(peeked: Peeked | null | undefined, codecs: Codecs): Outcome | null {
  if (!peeked) return { state: "failed", error: decodeError(gone()) };
  const { state, entry } = peeked;
  if (entry === null) return null;
  const value = entry.payload ? codecs.decode(entry.payload) : undefined;
  if (state === "completed") return { state: "succeeded", value };
  return state === "skipped" ? { state } : { state: "failed", error: decodeError(errorOf(state, value)) };
}

function errorOf(state: RunState, value: unknown): StoredError {
  const reason = (value ?? {}) as Partial<StoredError> & Partial<CrashReason> & { by?: string; reason?: string | null };
  if (typeof reason.message === "string") return { ...reason, name: reason.name ?? "Error", message: reason.message };
  if (state === "cancelled") {
    const message = `It was cancelled by ${reason.by ?? "an unknown caller"}${reason.reason ? `: ${reason.reason}` : "."}`;
    return { name: "Cancelled", code: "CANCELLED", message };
  }
  if (state === "dead") return crashLimit(reason, "task");
  return { name: "TaskEnded", code: "TASK_ENDED", message: `It ended ${state}.` };
}

function gone(): StoredError {
  return { name: "TaskEnded", code: "TASK_ENDED", message: "Its run no longer exists." };
}

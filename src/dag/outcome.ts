// How a need ended, from the last entry of its run, for the task that needs it.

import type { Codecs } from "../kernel/codec/codecs.js";
import { decodeError, type RecordedError, type StoredError } from "../kernel/codec/recorded-error.js";
import { referenceIn } from "../kernel/codec/result-reference.js";
import type { RunState } from "../kernel/run/run-state.js";
import { type CrashReason, crashLimit } from "../kernel/run/suspicion.js";
import type { Peeked } from "../store/contract/journal/journal.js";

/** How a task that another one needs has ended. */
export type Outcome<T = unknown> =
  | { readonly state: "succeeded"; readonly value: T }
  /** Also when it was cancelled or is dead: the error's code says which. */
  | { readonly state: "failed"; readonly error: RecordedError }
  /** It did not run because of a failure above it. `causes`: the tasks that failed. */
  | { readonly state: "upstream_failed"; readonly causes: readonly string[] }
  /** Its rule said no, and nothing above it failed. */
  | { readonly state: "skipped" };

/** Null: it has not ended. The value of a large result is a reference to it. */
export function outcomeOf(peeked: Peeked | null | undefined, codecs: Codecs): Outcome | null {
  if (!peeked) return { state: "failed", error: decodeError(gone()) };
  const { state, entry } = peeked;
  if (entry === null) return null;
  const value = entry.payload ? (referenceIn(entry.payload) ?? codecs.decode(entry.payload)) : undefined;
  if (state === "completed") return { state: "succeeded", value };
  return state === "skipped" ? skippedOf(value) : { state: "failed", error: decodeError(errorOf(state, value)) };
}

/** The tasks that failed, among these needs and above them. */
export function causesIn(needs: Readonly<Record<string, Outcome>>): readonly string[] {
  const causes = Object.entries(needs).flatMap(([name, outcome]) => {
    if (outcome.state === "upstream_failed") return outcome.causes;
    return outcome.state === "failed" ? [name] : [];
  });
  return [...new Set(causes)];
}

/** The reason in the last entry of a skipped task's run. */
export interface SkipReason {
  readonly because: "when" | "needs" | "upstream_failed";
  readonly needs: readonly string[];
  readonly causes?: readonly string[];
}

/** From the last entry of a skipped run, which need not be a task. */
export function skippedOf(reason: unknown): Extract<Outcome, { state: "upstream_failed" | "skipped" }> {
  const { because, causes = [] } = (reason ?? {}) as Partial<SkipReason>;
  return because === "upstream_failed" ? { state: "upstream_failed", causes } : { state: "skipped" };
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

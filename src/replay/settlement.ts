// How a session ended, and the effect that releases the claim with it.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { Payload } from "../kernel/codec/payload.js";
import { storeError } from "../kernel/codec/stored-error.js";
import type { HoldfastError } from "../kernel/error.js";
import type { Effect } from "../kernel/run/effect.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { HistoryTooLong, JournalMismatch, RunTimeout } from "./run-error.js";

/** How a session ended. */
export type SessionOutcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  /** The function waits only for outside events. `wakeInMs` is the time to the earliest deadline. */
  | { readonly kind: "waits"; readonly wakeInMs: number | null; readonly wakeAfter: number }
  /** Continue as new with this input; the messages in `reopen` were not delivered. */
  | { readonly kind: "continueAsNew"; readonly input: Payload; readonly reopen: readonly string[] }
  /** The run's own timeout has passed. */
  | { readonly kind: "timeout" }
  /** The journal has grown beyond the limit. */
  | { readonly kind: "tooLong"; readonly length: number }
  | { readonly kind: "handBack" }
  | { readonly kind: "cancelled"; readonly entry: JournalEntry }
  /** Code and journal do not fit: `missing` is recorded, but was not asked for. */
  | { readonly kind: "mismatch"; readonly missing: readonly JournalEntry[]; readonly asked: readonly string[] };

/** The effect with which the claim is released. */
export function settlement(outcome: SessionOutcome, codecs: Codecs, session: Session): Effect {
  switch (outcome.kind) {
    case "returned":
      return complete(outcome.value, codecs);
    case "threw":
      return { kind: "fail", as: "failed", reason: storeError(codecs, outcome.error) };
    case "handBack":
      return { kind: "handBack" };
    case "cancelled":
      return { kind: "fail", as: "cancelled", reason: outcome.entry.payload ?? codecs.encode(null) };
    case "waits": {
      const { wakeInMs, wakeAfter } = outcome;
      return { kind: "park", wakeInMs, wakeAfter, seenInboxSeq: session.inboxSeq };
    }
    case "continueAsNew":
      return { kind: "continue", input: outcome.input, reopen: outcome.reopen };
    case "tooLong":
      return {
        kind: "fail",
        as: "quarantined",
        reason: storeError(codecs, new HistoryTooLong(session.run.runId, outcome.length)),
      };
    case "timeout":
      return { kind: "fail", as: "failed", reason: storeError(codecs, new RunTimeout(session.run.runId)) };
    case "mismatch":
      return misfit(new JournalMismatch(outcome), codecs, session);
  }
}

/** This build cannot continue the run; another build may. */
export function misfit(error: HoldfastError, codecs: Codecs, { build }: Session): Effect {
  return { kind: "misfit", build, reason: storeError(codecs, error) };
}

/** A result that cannot be stored fails the run, so that it is not lost silently. */
function complete(value: unknown, codecs: Codecs): Effect {
  try {
    return { kind: "complete", output: codecs.encode(value, "result") };
  } catch (error) {
    return { kind: "fail", as: "failed", reason: storeError(codecs, error) };
  }
}

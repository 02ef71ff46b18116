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
  /** The function waits only for outside events. `wakeAt` is the earliest deadline on the database's clock. */
  | { readonly kind: "waits"; readonly wakeAt: number | null; readonly wakeAfter: number }
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

<<<<<<< HEAD
/** The run took longer than its workflow allows. */
export class RunTimeout extends HoldfastError {
  readonly code = "TIMEOUT";

  constructor(runId: string) {
    super(`Run ${runId} took longer than its program's timeout.`);
  }
}

/** Code and journal do not fit. The journal is unchanged: the run is left to a node whose code fits. */
export class JournalMismatch extends HoldfastError {
  readonly code = "JOURNAL_MISMATCH";
  readonly details: { readonly recorded: readonly object[]; readonly asked: readonly string[] };

  constructor({ missing, asked }: Extract<SessionOutcome, { kind: "mismatch" }>) {
    const recorded = missing.map(({ seq, kind, name, key }) => ({ seq, kind, name, key }));
    const lines = recorded.map(({ seq, kind, name }) => `recorded, not made: ${seq} ${kind} ${JSON.stringify(name)}`);
    super(
      "The code does not make the calls that the journal has recorded. The run continues on a node whose code does: " +
        "roll back to it, and `holdfast retry` the run if it is quarantined. Guard a change of code under live runs " +
        "with `ctx.patched`, or give the program a `version`.\n" +
        [...lines, ...asked.map((title) => `made, not recorded: ${title}`)].join("\n"),
    );
    this.details = { recorded, asked };
  }
}

/**
 * The journal of this generation has grown beyond the node's limit. It is kept: the run can be read, cancelled and
 * retried.
 */
export class HistoryTooLong extends HoldfastError {
  readonly code = "HISTORY_LIMIT";

  constructor(runId: string, length: number) {
    super(
      `The journal of run ${runId} has ${length} entries; no more are added. ` +
        "Call continueAsNew earlier in the workflow, or raise recovery.historyLimit and retry the run.",
    );
  }
}

=======
>>>>>>> cancel
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
      const wakeInMs = outcome.wakeAt === null ? null : Math.max(Math.ceil(outcome.wakeAt - session.databaseNow()), 0);
      return { kind: "park", wakeInMs, wakeAfter: outcome.wakeAfter, seenInboxSeq: session.inboxSeq };
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

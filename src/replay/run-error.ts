// Why a run could not continue: its time, its code, or the length of its journal.

import { HoldfastError } from "../kernel/error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";

/** `missing` is recorded, but was not asked for. */
interface Mismatch {
  readonly missing: readonly JournalEntry[];
  readonly asked: readonly string[];
}

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

  constructor({ missing, asked }: Mismatch) {
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

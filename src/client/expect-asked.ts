// Checks that a run asks what a person is about to decide. A decision counts once and cannot be undone, so a wrong one
// is rejected before it is sent.

import type { Codecs } from "../kernel/codec/codecs.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { Question } from "../replay/approval-call.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";

/** The question shown to the person differs from what the run asks. */
export class DecisionStale extends HoldfastError {
  readonly code = "DECISION_STALE";

  constructor(approval: string) {
    super(`Approval ${JSON.stringify(approval)} asks something other than what was shown. Read it again, then decide.`);
  }
}

/** The graph run is not at this approval: it has not reached it, or was rewound past it. */
export class GateClosed extends HoldfastError {
  readonly code = "GATE_CLOSED";

  constructor(approval: string, nth: string) {
    super(`The run is not waiting for ${approval}:${nth}. See which approval it is waiting for, then decide that one.`);
  }
}

export interface Decided {
  readonly approval: string;
  readonly nth: string;
  readonly choice: string;
  /** The hash of the question as it was shown. */
  readonly shown: string | undefined;
}

/** A question is near the end of a journal, however long the journal is. */
const LOOK_BACK = 500;

export async function expectAsked(
  store: Store,
  codecs: Codecs,
  run: RunRecord | null,
  decided: Decided,
): Promise<void> {
  const { approval, nth, choice, shown } = decided;
  const entries = run ? await lastEntries(store, run, decided) : [];
  const asked = questionAt(entries, decided);
  const question = asked?.payload ? (codecs.decode(asked.payload) as Question & { hash: string }) : null;
  if (shown !== undefined && question?.hash !== shown) throw new DecisionStale(approval);
  // A workflow accepts a decision before it asks. A graph numbers its approvals by visit, so an unknown one is a
  // mistake.
  if (!question && entries.some(({ kind }) => kind === "begun" || kind === "snapshot" || kind === "node"))
    throw new GateClosed(approval, nth);
  if (question && !question.choices.includes(choice))
    throw new InvalidInput("choice", `${JSON.stringify(choice)} must be one of ${question.choices.join(", ")}`);
}

async function lastEntries(store: Store, { id, seq, baseSeq }: RunRecord, decided: Decided) {
  const after = Math.max(seq - LOOK_BACK, baseSeq);
  const last = (await store.journal.read(id, { after }))?.entries ?? [];
  if (after === baseSeq || questionAt(last, decided)) return last;
  return (await store.journal.read(id))?.entries ?? [];
}

/** A rewind leaves the approvals the run was waiting for. */
function questionAt(entries: readonly JournalEntry[], { approval, nth }: Decided): JournalEntry | undefined {
  const rewound = entries.findLastIndex(({ kind, payload }) => kind === "retried" && payload !== null);
  return entries
    .slice(rewound + 1)
    .find(({ kind, name, key }) => kind === "approval.begun" && name === approval && key === nth);
}

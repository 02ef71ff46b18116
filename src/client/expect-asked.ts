// Whether a run asks what somebody is about to decide. A decision counts once and cannot be taken back, so a wrong one is refused
// before it is sent.

import type { Codecs } from "../kernel/codec/codecs.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { Question } from "../replay/approval-call.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";

/** What was shown to the one who decides is not what the run asks. */
export class DecisionStale extends HoldfastError {
  readonly code = "DECISION_STALE";

  constructor(approval: string) {
    super(`Approval ${JSON.stringify(approval)} asks something else than what was shown. Read it again, then decide.`);
  }
}

/** The graph's run is not at this gate: it has not come to it, or was taken back from it. */
export class GateClosed extends HoldfastError {
  readonly code = "GATE_CLOSED";

  constructor(approval: string, nth: string) {
    super(`The run does not ask for ${approval}:${nth}. See which approval it is at, then decide that one.`);
  }
}

export interface Decided {
  readonly approval: string;
  readonly nth: string;
  readonly choice: string;
  /** The hash of the question as it was shown. */
  readonly shown: string | undefined;
}

/** Questions stand near the end of a log, however long it is. */
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
  // A workflow may be told before it asks. A graph's gates are told apart by their visits: another one is a mistake.
  if (!question && entries.some(({ kind }) => kind === "begun" || kind === "snapshot" || kind === "node"))
    throw new GateClosed(approval, nth);
  if (question && !question.choices.includes(choice))
    throw new InvalidInput("choice", `${JSON.stringify(choice)} is none of ${question.choices.join(", ")}`);
}

async function lastEntries(store: Store, { id, seq, baseSeq }: RunRecord, decided: Decided) {
  const after = Math.max(seq - LOOK_BACK, baseSeq);
  const last = (await store.journal.read(id, { after }))?.entries ?? [];
  if (after === baseSeq || questionAt(last, decided)) return last;
  return (await store.journal.read(id))?.entries ?? [];
}

/** A run that was rewound has left the gates it was at. */
function questionAt(entries: readonly JournalEntry[], { approval, nth }: Decided): JournalEntry | undefined {
  const rewound = entries.findLastIndex(({ kind, payload }) => kind === "retried" && payload !== null);
  return entries
    .slice(rewound + 1)
    .find(({ kind, name, key }) => kind === "approval.begun" && name === approval && key === nth);
}

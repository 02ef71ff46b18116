// A run whose journal has a gap cannot be executed by any node: it ends dead with that reason instead of being tried again.

import { JournalCorrupt } from "../store/contract/journal/journal.js";
import type { Session } from "./session.js";

/** Does nothing for any other error, nor for the journal of another run. */
export async function endCorrupt(session: Session, error: unknown): Promise<void> {
  if (!(error instanceof JournalCorrupt) || error.runId !== session.run.runId || session.settledAs !== null) return;
  const { message, code, missingSeq } = error;
  const data = JSON.stringify({ name: "JournalCorrupt", message, code, details: { missingSeq } });
  // Not written: the run is reclaimed when its lease expires, and the next holder finds the same gap.
  await session.commit([{ kind: "fail", as: "dead", reason: { codec: "json", data } }]).catch(() => {});
}

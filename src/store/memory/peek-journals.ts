// Reads single entries of many runs: their inputs, or what they ended with.

import { isEnded } from "../../kernel/run-state.js";
import type { Peek, Peeked } from "../contract/journal.js";
import { journalEntry } from "./read-journal.js";
import type { Tables } from "./tables.js";

export function peekJournals(tables: Tables, wanted: readonly Peek[]): readonly (Peeked | null)[] {
  return wanted.map(({ runId, what }) => {
    const row = tables.runs.get(runId);
    if (!row) return null;
    const seq = what === "start" ? row.baseSeq + 1 : row.seq;
    const entry = what === "start" || isEnded(row.state) ? tables.journal.get(runId)?.get(seq) : undefined;
    return { state: row.state, entry: entry ? journalEntry(entry) : null };
  });
}

// Reads the current generation of a run's journal and rejects a gap; and single entries of many runs.

import { isEnded } from "../../../kernel/run/run-state.js";
import {
  GIVEN,
  JournalCorrupt,
  type JournalEntry,
  type JournalPage,
  type JournalStore,
  type Peek,
  type Peeked,
} from "../../contract/journal/journal.js";
import type { RunGlance } from "../../contract/run/runs.js";
import { toMs } from "../table/micros.js";
import { copyPayload } from "../table/payload.js";
import type { JournalRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export function memoryJournal(tables: Tables): JournalStore {
  return {
    read: async (runId, options) => readJournal(tables, runId, options),
    lastSet: async (runId, name) => lastSet(tables, runId, name),
    peek: async (wanted) => wanted.map((one) => peek(tables, one)),
  };
}

function lastSet(tables: Tables, runId: string, name: string): JournalEntry | null {
  const log = [...(tables.journal.get(runId)?.values() ?? [])];
  const last = log
    .filter((entry) => entry.kind === "set" && entry.name === name)
    .sort((a, b) => a.seq - b.seq)
    .at(-1);
  return last ? journalEntry(last) : null;
}

export function peek(tables: Tables, { runId, what }: Peek): Peeked | null {
  const row = tables.runs.get(runId);
  if (!row) return null;
  const seq = what === "start" ? row.baseSeq + 1 : row.seq;
  const entry = what === "start" || isEnded(row.state) ? tables.journal.get(runId)?.get(seq) : undefined;
  return { state: row.state, entry: entry ? journalEntry(entry) : null };
}

export function glance(tables: Tables, runId: string): RunGlance | null {
  const row = tables.runs.get(runId);
  const seen = peek(tables, { runId, what: "end" });
  if (!row || !seen) return null;
  const isShort = Buffer.byteLength(seen.entry?.payload?.data ?? "") <= GIVEN.bytes;
  return { state: row.state, seq: row.seq, end: isShort ? seen.entry : null, misfits: row.misfits && [...row.misfits] };
}

/** The same call repeated finds its entry. */
export function wrote(tables: Tables, { id, baseSeq }: Pick<RunRow, "id" | "baseSeq">, callId: string): boolean {
  const log = [...(tables.journal.get(id)?.values() ?? [])];
  return log.some(({ seq, key, epoch }) => seq >= baseSeq && key === callId && epoch === 0);
}

function readJournal(
  tables: Tables,
  runId: string,
  options: { readonly after?: number; readonly limit?: number } = {},
): JournalPage | null {
  const row = tables.runs.get(runId);
  if (!row) return null;
  const { seq, baseSeq } = row;
  const after = Math.max(options.after ?? 0, baseSeq);
  const last = Math.min(seq, after + (options.limit ?? Number.POSITIVE_INFINITY));
  const log = tables.journal.get(runId);
  const entries: JournalEntry[] = [];
  for (let at = after + 1; at <= last; at++) {
    const entry = log?.get(at);
    if (!entry) throw new JournalCorrupt(runId, at);
    entries.push(journalEntry(entry));
  }
  return { entries, seq, baseSeq };
}

export function journalEntry({ seq, epoch, kind, name, key, payload, atUs }: JournalRow): JournalEntry {
  return { seq, epoch, kind, name, key, payload: copyPayload(payload), at: toMs(atUs) };
}

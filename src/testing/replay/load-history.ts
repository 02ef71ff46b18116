// Puts a recorded run into the memory store as it was before its end: waiting, with its journal.

import { isEnded, type RunState } from "../../kernel/run/run-state.js";
import type { JournalEntry } from "../../store/contract/journal/journal.js";
import type { RunRow } from "../../store/memory/table/rows.js";
import { indexRun, type Tables } from "../../store/memory/table/tables.js";
import type { RunHistory } from "./history.js";

/** How the run ended; null: it had not. */
export function endOf({ entries }: RunHistory): JournalEntry | null {
  const last = entries.at(-1)!;
  return isEnded(last.kind as RunState) ? last : null;
}

/** `isTarget`: its end is left out, so that it is executed again up to there. */
export function loadHistory(tables: Tables, history: RunHistory, isTarget: boolean): RunRow {
  const { id, program, queue, version, generation, failures, parentId } = history;
  const end = endOf(history);
  const entries = isTarget && end ? history.entries.slice(0, -1) : history.entries;
  const group = { env: "default", stack: null, queue, program, version };
  const last = entries.at(-1)!;
  const nowUs = tables.nowUs();
  const row: RunRow = {
    id,
    groupId: tables.groups.idOf(group),
    group,
    priority: 0,
    crashLimit: 5,
    recovery: null,
    parentId,
    createdAtUs: entries[0]!.at * 1000,
    limited: false,
    pending: 0,
    counts: false,
    pausing: false,
    // Others are only read.
    state: isTarget ? "waiting" : end ? history.state : "paused",
    availableAtUs: nowUs,
    wakeAtUs: null,
    wakeAfter: 1,
    epoch: Math.max(...entries.map(({ epoch }) => epoch)),
    token: null,
    owner: null,
    leaseUntilUs: null,
    seq: last.seq,
    baseSeq: entries[0]!.seq - 1,
    generation,
    inboxSeq: 0,
    failures,
    crashes: 0,
    misfits: null,
    endedAtUs: !isTarget && end ? end.at * 1000 : null,
    archivedAtUs: null,
  };
  const rows = entries.map(({ at, ...entry }) => [entry.seq, { ...entry, token: null, atUs: at * 1000 }] as const);
  tables.journal.set(id, new Map(rows));
  tables.runs.set(id, row);
  indexRun(tables, row);
  return row;
}

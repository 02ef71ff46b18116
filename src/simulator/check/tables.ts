// Compares the store's tables with what the checkers folded from its answers; a log has no gap and ends with its end.

import { isEnded } from "../../kernel/run-state.js";
import type { History } from "./history.js";
import type { ModelRun } from "./model.js";

export function checkTables(history: History): void {
  const { tables, runs } = history;
  if (tables.runs.size !== runs.size) history.broken("S21", null, `${tables.runs.size} runs, ${runs.size} inserted`);
  for (const run of runs.values()) {
    const row = tables.runs.get(run.id);
    if (!row) {
      history.broken("S1", run.id, "its row is gone");
      continue;
    }
    const theirs = [row.state, row.epoch, row.token, row.seq, row.baseSeq, row.generation, row.crashes].join();
    const ours = [run.state, run.epoch, run.token, run.seq, run.baseSeq, run.generation, run.streak].join();
    history.expect(theirs === ours, "S21", run, `the row says ${theirs}, its history ${ours}`);
    checkLog(history, run);
    checkInbox(history, run);
  }
}

function checkLog(history: History, run: ModelRun): void {
  const log = history.tables.journal.get(run.id);
  history.expect(log?.size === run.journal.length, "S8", run, `${log?.size} entries, ${run.journal.length} written`);
  for (const [i, entry] of run.journal.entries()) {
    const row = log?.get(i + 1);
    const same = row?.kind === entry.kind && row.name === entry.name && row.key === entry.key;
    history.expect(same, "S8", run, `entry ${i + 1} is ${row?.kind}, not ${entry.kind}`);
  }
  const last = run.journal.at(-1)!.kind;
  if (isEnded(run.state)) history.expect(last === run.state, "S8", run, `${run.state}, but its log ends with ${last}`);
}

function checkInbox(history: History, run: ModelRun): void {
  const rows = history.tables.inbox.get(run.id) ?? [];
  const show = (list: readonly { key: string; takenSeq: number | null }[]) =>
    list.map(({ key, takenSeq }) => `${key}@${takenSeq}`).join();
  const theirs = show([...rows].sort((a, b) => a.id - b.id));
  history.expect(theirs === show(run.messages), "S12", run, `the inbox has ${theirs}, not ${show(run.messages)}`);
}

// Compares the store's tables with the model that the checkers folded from its answers; a journal has no gap and ends
// with its end.

import { isEnded } from "../../kernel/run/run-state.js";
import type { MessageKind } from "../../store/contract/inbox/inbox.js";
import type { Of } from "../applied.js";
import type { History } from "./history.js";
import type { ModelEntry, ModelRun } from "./model.js";

/** Nothing is missing that is still needed, after each batch that was removed. */
export function checkClean(history: History, { args: [{ part }], answer: cleaned }: Of<"cleanUp">): void {
  if (!cleaned || cleaned.removed === 0) return;
  if (part === "runs") checkRemoved(history, cleaned.removed);
  for (const run of history.runs.values()) {
    checkLog(history, run);
    checkInbox(history, run);
  }
}

/** Retention removes whole runs: only ended ones, and a child after its parent. They are not followed any more. */
function checkRemoved(history: History, removed: number): void {
  const { tables, runs } = history;
  const gone = [...runs.values()].filter(({ id }) => !tables.runs.has(id));
  if (gone.length !== removed) history.broken("S20", null, `${removed} runs removed, ${gone.length} are gone`);
  for (const run of gone) {
    history.expect(isEnded(run.state), "S20", run, `removed while it was ${run.state}`);
    const hasParent = run.parentId !== null && tables.runs.has(run.parentId);
    history.expect(!hasParent, "S20", run, "removed before its parent");
  }
  for (const run of gone) {
    runs.delete(run.id);
    history.removed.set(run.id, run);
    history.lost.add(run.id);
  }
  for (const [key, runId] of history.keys) if (!runs.has(runId)) history.keys.delete(key);
}

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
  const last = run.journal.length;
  history.expect((log?.has(last) && !log.has(last + 1)) ?? false, "S8", run, `${log?.size} entries, ${last} written`);
  for (const [i, entry] of run.journal.entries()) {
    const row = log?.get(i + 1);
    if (!row && mayBeGone(run, i + 1)) continue;
    const same = row?.kind === entry.kind && row.name === entry.name && row.key === entry.key;
    history.expect(same, "S8", run, `entry ${i + 1} is ${row?.kind}, not ${entry.kind}`);
  }
  const end = run.journal.at(-1)!.kind;
  if (isEnded(run.state)) history.expect(end === run.state, "S8", run, `${run.state}, but its log ends with ${end}`);
}

/** Of a past generation, and not one of those by which the restarts of the run are counted. */
function mayBeGone({ journal, baseSeq }: ModelRun, seq: number): boolean {
  const isStart = ({ kind }: ModelEntry) => kind === "start" || kind === "retried";
  const begun = journal.findLastIndex((one) => isStart(one) && one.name !== "recovery");
  return seq <= baseSeq && (seq < begun + 1 || !isStart(journal[seq - 1]!));
}

/** What a person asks of a run is stored with a name. */
const AUTHORED: readonly string[] = ["cancel", "pause", "decision"] satisfies MessageKind[];

function checkInbox(history: History, run: ModelRun): void {
  const rows = history.tables.inbox.get(run.id) ?? [];
  const isThere = new Set(rows.map(({ key }) => key));
  const expected = run.messages.filter((message) => isThere.has(message.key) || !mayBeForgotten(run, message));
  const show = (list: readonly { key: string; takenSeq: number | null }[]) =>
    list.map(({ key, takenSeq }) => `${key}@${takenSeq}`).join();
  const theirs = show([...rows].sort((a, b) => a.id - b.id));
  history.expect(theirs === show(expected), "S12", run, `the inbox has ${theirs}, not ${show(expected)}`);
  const anonymous = rows.filter(({ kind, sender }) => AUTHORED.includes(kind) && sender === null);
  history.expect(anonymous.length === 0, "S19", run, `${anonymous.map(({ key }) => key)} without an author`);
}

/** Taken in by a past generation, and never sent again: the others are remembered for longer than a simulation takes. */
function mayBeForgotten({ baseSeq }: ModelRun, { key, messageId, kind, name, takenSeq }: ModelRun["messages"][number]) {
  const isPast = takenSeq !== null && takenSeq > 0 && takenSeq <= baseSeq;
  return isPast && (kind === "child" ? name === "completed" : key.endsWith(messageId));
}

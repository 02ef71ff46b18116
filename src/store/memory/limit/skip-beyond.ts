// Skips runs without a free slot that may not wait: the second half of the database's admit_runs.

import { overflowReason } from "../../../kernel/run/overflow.js";
import { appendEntry } from "../journal/append-entry.js";
import { endRun, settleEnds } from "../run/end-run.js";
import { compareText } from "../table/names.js";
import type { LimitRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/**
 * Called after the slots of these keys were handed out. Only runs that were never claimed; a task of another run waits.
 */
export function skipBeyond(tables: Tables, keys: ReadonlySet<string>, dueUs: number): RunRow[] {
  const rows = [...tables.limits.values()].flat().filter(({ key }) => keys.has(key));
  const beyond = [...keys].flatMap((key) =>
    beyondOf(
      tables,
      rows.filter((row) => row.key === key),
      dueUs,
    ),
  );
  const nowUs = tables.nowUs();
  const skipped = beyond.map(({ runId, overflow }) => {
    const run = tables.runs.get(runId)!;
    const ended = endRun(tables, run, "skipped", nowUs);
    const payload = { codec: "json", data: overflowReason(overflow!) };
    appendEntry(tables, run, { kind: "skipped", name: "", key: null, payload }, nowUs);
    tables.skipped.push({ runId, program: run.group.program, overflow: overflow! });
    return ended;
  });
  settleEnds(tables, skipped, nowUs);
  return skipped.map(({ row }) => row);
}

function beyondOf(tables: Tables, line: readonly LimitRow[], dueUs: number): readonly LimitRow[] {
  const taken = line.filter(({ state }) => state === "granted").length;
  const fresh = line
    .filter(({ state, availableAtUs }) => state === "waits" && availableAtUs <= dueUs)
    .filter(({ runId }) => isFresh(tables.runs.get(runId)!))
    .sort((a, b) => b.availableAtUs - a.availableAtUs || compareText(b.runId, a.runId));
  const older = (policy: LimitRow["overflow"]) =>
    fresh.filter(({ overflow }) => overflow === policy).filter(({ max }, i) => policy === "drop" || i >= max);
  return [...older("drop"), ...older("shed-oldest")].filter(({ max }) => taken >= max);
}

function isFresh({ epoch, counts }: RunRow): boolean {
  return epoch === 0 && !counts;
}

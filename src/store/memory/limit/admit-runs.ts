// Admits held runs as far as their limits allow, line by line and stage by stage.

import { overflowReason } from "../../../kernel/run/overflow.js";
import type { Admission } from "../../contract/run/runs.js";
import { appendEntry } from "../journal/append-entry.js";
import { endRun, settleEnds } from "../run/end-run.js";
import { moveRun } from "../run/move-run.js";
import { toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { LimitRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/** How far ahead starts of a rate are handed out; and how many of one line per call. */
const AHEAD_US = 2_000_000;
const MOST_OF_A_LINE = 1000;
/** Runs of one batch are up to a millisecond apart. */
const DUE_SLACK_US = 2000;

/** Returns the runs that became claimable, and those that were skipped. */
export function admitRuns(tables: Tables, whom: Admission): readonly RunRow[] {
  if ("runIds" in whom) {
    return admitAlong(tables, whom.runIds);
  }
  if (whom.keys < 1) return [];
  const waiting = rowsOf(tables).filter(({ state, key }) => state === "waits" && key.startsWith(`${whom.env}/`));
  return settle(tables, admitLines(tables, new Set(waiting.map(({ key }) => key))));
}

function admitAlong(tables: Tables, runIds: readonly string[]): readonly RunRow[] {
  const keys = runIds.flatMap((id) => {
    const held = tables.runs.get(id)?.state === "held";
    return (tables.limits.get(id) ?? []).filter(({ state }) => state === "waits" || !held).map(({ key }) => key);
  });
  return keys.length === 0 ? [] : settle(tables, admitLines(tables, new Set(keys)));
}

function settle(tables: Tables, rows: readonly RunRow[]): readonly RunRow[] {
  const done = rows.filter(({ state }) => state !== "held");
  // A skipped run may have held slots of other limits.
  const further = rows.flatMap(({ id, state }) => (state === "waiting" ? [] : id));
  return further.length === 0 ? done : [...done, ...admitAlong(tables, further)];
}

function rowsOf(tables: Tables): LimitRow[] {
  return [...tables.limits.values()].flat();
}

/** All lines are evaluated before any run moves. */
function admitLines(tables: Tables, keys: ReadonlySet<string>): RunRow[] {
  const nowUs = tables.nowUs();
  const lines = new Map([...keys].map((key) => [key, { waits: [] as LimitRow[], taken: 0 }]));
  for (const row of rowsOf(tables)) {
    const line = lines.get(row.key);
    if (row.state === "granted" && line) line.taken++;
    if (row.state === "waits" && row.availableAtUs <= nowUs + DUE_SLACK_US) line?.waits.push(row);
  }
  const going = [...lines].flatMap(([key, { waits, taken }]) => {
    const line = waits.sort(inTurn);
    return line[0]?.kind === "rate" ? startsOf(tables, key, line, nowUs) : placesOf(line, taken);
  });
  const moved = going.map(({ stage, startUs }) => {
    const run = tables.runs.get(stage.runId)!;
    stage.state = stage.kind === "rate" ? "passed" : "granted";
    run.availableAtUs = Math.max(run.availableAtUs, startUs);
    moveRun(tables, run, "waiting");
    return run;
  });
  return [...moved, ...skipBeyond(tables, keys, nowUs + DUE_SLACK_US)];
}

function inTurn(a: LimitRow, b: LimitRow): number {
  return a.priority - b.priority || a.availableAtUs - b.availableAtUs || compareText(a.runId, b.runId);
}

interface Going {
  readonly stage: LimitRow;
  readonly startUs: number;
}

/** Each against its own limit; the first that must wait stops the line. */
function placesOf(line: readonly LimitRow[], taken: number): Going[] {
  const room = Math.min(MOST_OF_A_LINE, (line[0]?.max ?? 0) - taken);
  const going: Going[] = [];
  for (const stage of line.slice(0, Math.max(room, 0))) {
    if (taken + going.length >= stage.max) break;
    going.push({ stage, startUs: 0 });
  }
  return going;
}

function startsOf(tables: Tables, key: string, line: readonly LimitRow[], nowUs: number): Going[] {
  const untilUs = nowUs + AHEAD_US;
  let nextUs = Math.max(nowUs, tables.rates.get(key) ?? 0);
  const room = Math.floor((untilUs - nextUs) / stepUs(line[0]!)) + 1;
  const going: Going[] = [];
  for (const stage of line.slice(0, Math.max(Math.min(MOST_OF_A_LINE, room), 0))) {
    if (nextUs > untilUs) break;
    going.push({ stage, startUs: nextUs });
    nextUs += stepUs(stage);
  }
  if (going.length > 0) tables.rates.set(key, nextUs);
  return going;
}

function stepUs({ perMs, max }: LimitRow): number {
  return toUs(perMs! / max);
}

/**
 * The second half of the database's admit_runs: skips runs without a free slot that may not wait.
 * Called after the slots of these keys were handed out. Only runs that were never claimed; a task of another run waits.
 */
function skipBeyond(tables: Tables, keys: ReadonlySet<string>, dueUs: number): RunRow[] {
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

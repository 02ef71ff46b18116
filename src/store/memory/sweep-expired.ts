// Takes back the claims whose lease is over. Changes state only; the ordinary claim picks the runs up.

import { readTicket } from "../../kernel/debounce-ticket.js";
import { orphanedError, type Recovery } from "../../kernel/recovery.js";
import { checkLimit, refuse } from "../check/value.js";
import type { Reclaimed } from "../contract/runs.js";
import { appendEntry } from "./append-entry.js";
import { compareText } from "./compare-text.js";
import { type Ended, endRun, settleEnds } from "./end-run.js";
import { toMs } from "./micros.js";
import { moveRun } from "./move-run.js";
import { jsonPayload } from "./payload.js";
import type { RunRow } from "./rows.js";
import { runsInState, type Tables } from "./tables.js";

export interface ExpiredRow extends RunRow {
  leaseUntilUs: number;
  owner: string;
}

/** Running rows of which that is true, those first whose lease was over first. */
function runningThat(tables: Tables, isOver: (row: ExpiredRow) => boolean): ExpiredRow[] {
  return runsInState(tables, "running")
    .filter((row): row is ExpiredRow => row.leaseUntilUs !== null && isOver(row as ExpiredRow))
    .sort((a, b) => a.leaseUntilUs - b.leaseUntilUs || compareText(a.id, b.id));
}

/** Running rows whose lease has been over since then, the oldest first. */
export function expiredSince(tables: Tables, atUs: number): ExpiredRow[] {
  return runningThat(tables, ({ leaseUntilUs }) => leaseUntilUs <= atUs);
}

export function sweepExpired(
  tables: Tables,
  options: { readonly limit: number },
  gone: ReadonlySet<string> = new Set(),
): readonly Reclaimed[] {
  refuse(checkLimit("limit", options.limit));
  const nowUs = tables.nowUs();
  const rows = runningThat(tables, ({ leaseUntilUs, owner }) => leaseUntilUs <= nowUs || gone.has(owner));
  return takeBack(tables, rows.slice(0, Math.max(options.limit, 0)), declared(tables));
}

/** What these owners hold. */
export function takeBackFrom(tables: Tables, owners: ReadonlySet<string>): readonly Reclaimed[] {
  return takeBack(
    tables,
    runningThat(tables, ({ owner }) => owners.has(owner)),
    declared(tables),
  );
}

function declared(tables: Tables): (row: ExpiredRow) => Recovery {
  return ({ groupId }) => tables.groups.recoveryOf(groupId) ?? "resume";
}

/** Those that ended tell their parents when all are settled. */
export function takeBack(
  tables: Tables,
  rows: readonly ExpiredRow[],
  policyOf: (row: ExpiredRow) => Recovery,
): readonly Reclaimed[] {
  const nowUs = tables.nowUs();
  const ended: Ended[] = [];
  const reclaimed = rows.map((row) => takeOneBack(tables, row, policyOf(row), ended));
  settleEnds(tables, ended, nowUs);
  return reclaimed;
}

function takeOneBack(tables: Tables, row: ExpiredRow, policy: Recovery, ended: Ended[]): Reclaimed {
  const nowUs = tables.nowUs();
  const { id: runId, owner: previousOwner, epoch, crashes } = row;
  const expiredForMs = toMs(nowUs - row.leaseUntilUs);
  const outcome = verdictOn(tables, row, policy);
  row.recoveries++;
  row.recoveredFrom = previousOwner;
  if (outcome === "waiting" || outcome === "paused") moveRun(tables, row, outcome);
  else if (outcome === "restarted") beginAnew(tables, row, nowUs);
  else {
    ended.push(endRun(tables, row, outcome, nowUs));
    const reason = outcome === "dead" ? { code: "CRASH_LIMIT", crashes } : orphanedError(previousOwner);
    appendEntry(tables, row, { kind: outcome, name: "", key: null, payload: jsonPayload(reason) }, nowUs);
  }
  const node = tables.nodes.get(previousOwner);
  const leaseMs = node?.alone ? null : (node?.leaseMs ?? null);
  const renewedAgoMs = leaseMs === null ? null : expiredForMs + leaseMs;
  const previous = { previousOwner, previousIdentity: node?.identity ?? null, previousName: node?.name ?? null };
  return { runId, outcome, ...previous, epoch, crashes, expiredForMs, renewedAgoMs };
}

/** A run that gathers events has not begun: whatever its program says, another node goes on with it. */
function verdictOn(tables: Tables, row: RunRow, policy: Recovery): Reclaimed["outcome"] {
  const start = tables.journal.get(row.id)?.get(row.baseSeq + 1);
  const begun = start !== undefined && readTicket(start.key) === null;
  if (policy === "fail" && begun) return "failed";
  // One whose tasks are under way goes on.
  const anew = policy === "restart" && begun && row.pending === 0;
  const isCapped = anew && !row.counts && restartsOf(tables, row) + 1 >= row.crashLimit;
  if (row.crashes >= row.crashLimit || isCapped) return "dead";
  if (row.pausing) return "paused";
  return anew ? "restarted" : "waiting";
}

/** Since somebody began it: progress sets crashes back, and one that kills its process in its second step makes some. */
function restartsOf(tables: Tables, { id }: RunRow): number {
  const starts = [...(tables.journal.get(id)?.values() ?? [])].filter(
    ({ kind }) => kind === "start" || kind === "redriven",
  );
  const begun = starts.findLastIndex(({ kind, name }) => kind === "redriven" || name !== "recovery");
  return starts.length - 1 - begun;
}

/** The next generation, with the same input and messages; what was counted against the run stays counted. */
function beginAnew(tables: Tables, row: RunRow, nowUs: number): void {
  const start = tables.journal.get(row.id)?.get(row.baseSeq + 1);
  row.generation++;
  row.failures = 0;
  moveRun(tables, row, "waiting");
  for (const message of tables.inbox.get(row.id) ?? []) {
    if ((message.takenSeq ?? 0) > row.baseSeq) message.takenSeq = null;
  }
  row.baseSeq = row.seq;
  appendEntry(tables, row, { kind: "start", name: "recovery", key: null, payload: start?.payload ?? null }, nowUs);
}

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
  { by, gone }: { readonly by: string | null; readonly gone: ReadonlySet<string> } = { by: null, gone: new Set() },
): readonly Reclaimed[] {
  refuse(checkLimit("limit", options.limit));
  const nowUs = tables.nowUs();
  const rows = runningThat(tables, ({ leaseUntilUs, owner }) => leaseUntilUs <= nowUs || gone.has(owner));
  return takeBack(tables, rows.slice(0, Math.max(options.limit, 0)), { by, policyOf: declared(tables) });
}

/** What these owners hold. */
export function takeBackFrom(tables: Tables, owners: ReadonlySet<string>, by: string): readonly Reclaimed[] {
  const rows = runningThat(tables, ({ owner }) => owners.has(owner));
  return takeBack(tables, rows, { by, policyOf: declared(tables) });
}

function declared(tables: Tables): (row: ExpiredRow) => Recovery {
  return ({ recovery, groupId }) => recovery ?? tables.groups.recoveryOf(groupId) ?? "resume";
}

interface Sweep {
  /** The node that sweeps; null: somebody asked for it. */
  readonly by: string | null;
  readonly policyOf: (row: ExpiredRow) => Recovery;
}

/**
 * Those that ended tell their parents when all are settled. Tasks that are to end come after that, one by one: of a task
 * and a task of its own that die together, each is counted and told where the other still lives.
 */
export function takeBack(tables: Tables, rows: readonly ExpiredRow[], { by, policyOf }: Sweep): readonly Reclaimed[] {
  const nowUs = tables.nowUs();
  const judged = rows.map((row) => ({ row, outcome: verdictOn(tables, row, policyOf(row)) }));
  const taken = new Map<ExpiredRow, Reclaimed>();
  const ended: Ended[] = [];
  const isDoomed = ({ row, outcome }: (typeof judged)[number]) => row.counts && ENDS.includes(outcome);
  for (const one of judged)
    if (!isDoomed(one)) taken.set(one.row, takeOneBack(tables, one.row, one.outcome, by, ended));
  settleEnds(tables, ended, nowUs);
  for (const { row, outcome } of judged) {
    if (taken.has(row)) continue;
    const buried: Ended[] = [];
    taken.set(row, takeOneBack(tables, row, outcome, by, buried));
    settleEnds(tables, buried, nowUs);
  }
  return rows.map((row) => taken.get(row)!);
}

const ENDS: readonly Reclaimed["outcome"][] = ["dead", "failed"];

function takeOneBack(
  tables: Tables,
  row: ExpiredRow,
  outcome: Reclaimed["outcome"],
  by: string | null,
  ended: Ended[],
): Reclaimed {
  const nowUs = tables.nowUs();
  const { id: runId, owner: previousOwner, epoch, crashes } = row;
  const expiredForMs = toMs(nowUs - row.leaseUntilUs);
  const note = { epoch, owner: previousOwner, by, outcome, atUs: nowUs };
  tables.takenClaims.set(runId, [...(tables.takenClaims.get(runId) ?? []), note]);
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

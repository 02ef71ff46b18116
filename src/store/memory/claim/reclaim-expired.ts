// Reclaims runs whose lease has expired. Changes state only; the ordinary claim picks the runs up.

import { readTicket } from "../../../kernel/run/debounce-ticket.js";
import { orphanedError, type Recovery } from "../../../kernel/run/recovery.js";
import {
  crashReason,
  type DeadHolder,
  delayAfterLosses,
  MOST_LOSSES,
  NAMED_HOLDERS,
  NOT_ALONE_FACTOR,
  SAME_CRASH_MS,
} from "../../../kernel/run/suspicion.js";
import type { Reclaimed } from "../../contract/run/runs.js";
import { appendEntry } from "../journal/append-entry.js";
import { type Ended, endRun, settleEnds } from "../run/end-run.js";
import { moveRun, nextGeneration } from "../run/move-run.js";
import { toMs, toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import { jsonPayload } from "../table/payload.js";
import type { RunRow, TakenClaimRow } from "../table/rows.js";
import { runsInState, type Tables } from "../table/tables.js";

export interface ExpiredRow extends RunRow {
  leaseUntilUs: number;
  owner: string;
}

/** Running rows that match, those with the oldest expiry first. */
export function orphansOf(tables: Tables, isOver: (row: ExpiredRow) => boolean): ExpiredRow[] {
  return runsInState(tables, "running")
    .filter((row): row is ExpiredRow => row.leaseUntilUs !== null && isOver(row as ExpiredRow))
    .sort((a, b) => a.leaseUntilUs - b.leaseUntilUs || compareText(a.id, b.id));
}

/** Running rows whose lease expired before then, the oldest first. */
export function expiredSince(tables: Tables, atUs: number): ExpiredRow[] {
  return orphansOf(tables, ({ leaseUntilUs }) => leaseUntilUs <= atUs);
}

export function reclaimExpired(
  tables: Tables,
  { env, limit }: { readonly env: string; readonly limit: number },
): readonly Reclaimed[] {
  const rows = expiredSince(tables, tables.nowUs()).filter(({ group }) => group.env === env);
  return reclaimRows(tables, rows.slice(0, Math.max(limit, 0)), null);
}

/** With the policies their programs declared. */
export function reclaimRows(tables: Tables, rows: readonly ExpiredRow[], by: string | null): readonly Reclaimed[] {
  return reclaimWith(tables, rows, { by, policyOf: declared(tables) });
}

/** Reclaims everything these owners hold. */
export function reclaimFrom(tables: Tables, owners: ReadonlySet<string>, by: string): readonly Reclaimed[] {
  return reclaimRows(tables, heldBy(tables, owners), by);
}

/** Marks their runs as orphans, to be decided on one by one. */
export function endClaimsOf(tables: Tables, owners: ReadonlySet<string>): void {
  const nowUs = tables.nowUs();
  for (const row of heldBy(tables, owners)) row.leaseUntilUs = Math.min(row.leaseUntilUs, nowUs);
}

function heldBy(tables: Tables, owners: ReadonlySet<string>): ExpiredRow[] {
  return orphansOf(tables, ({ owner }) => owners.has(owner));
}

function declared(tables: Tables): (row: ExpiredRow) => Recovery {
  return ({ recovery, groupId }) => recovery ?? tables.groups.recoveryOf(groupId) ?? "resume";
}

interface Reclaiming {
  /** The node that reclaims; null: a caller requested it. */
  readonly by: string | null;
  readonly policyOf: (row: ExpiredRow) => Recovery;
}

/**
 * Parents of ended runs are notified when all are settled. Tasks that are to end come after that, one by one: if a task
 * and a task of its own die together, each is counted and reported while the other still lives.
 */
export function reclaimWith(
  tables: Tables,
  rows: readonly ExpiredRow[],
  { by, policyOf }: Reclaiming,
): readonly Reclaimed[] {
  const nowUs = tables.nowUs();
  const judged = rows.map((row) => ({ row, verdict: verdictOn(tables, row, policyOf(row)) }));
  const taken = new Map<ExpiredRow, Reclaimed>();
  const ended: Ended[] = [];
  const isEndingTask = ({ row, verdict }: (typeof judged)[number]) => row.counts && ENDS.includes(verdict.outcome);
  for (const one of judged) if (!isEndingTask(one)) taken.set(one.row, reclaimOne(tables, one, by, ended));
  settleEnds(tables, ended, nowUs);
  for (const { row, verdict } of judged) {
    if (taken.has(row)) continue;
    const ends: Ended[] = [];
    const last = { ...verdict, counted: true, losses: 0, forgiven: [] };
    taken.set(row, reclaimOne(tables, { row, verdict: last }, by, ends));
    settleEnds(tables, ends, nowUs);
  }
  return rows.map((row) => taken.get(row)!);
}

const ENDS: readonly Reclaimed["outcome"][] = ["dead", "failed"];

interface Verdict {
  readonly outcome: Reclaimed["outcome"];
  /** The reclaim counts as one of the run's crashes. */
  readonly counted: boolean;
  /** The number of crashes now. */
  readonly crashes: number;
  /** Reclaims that no longer count: their holders showed a sign of life since. */
  readonly forgiven: readonly TakenClaimRow[];
  /** Live holders in a row that lost the run. */
  readonly losses: number;
}

function reclaimOne(
  tables: Tables,
  { row, verdict }: { readonly row: ExpiredRow; readonly verdict: Verdict },
  by: string | null,
  ended: Ended[],
): Reclaimed {
  const { outcome, counted, crashes, forgiven, losses } = verdict;
  const nowUs = tables.nowUs();
  const { id: runId, owner: previousOwner, epoch } = row;
  const expiredForMs = toMs(nowUs - row.leaseUntilUs);
  const holders = outcome === "dead" ? holdersOf(tables, row, crashes) : [];
  const before = takenOf(tables, runId).map((one) => (forgiven.includes(one) ? { ...one, counted: false } : one));
  const note = { epoch, owner: previousOwner, by, outcome, atUs: nowUs, counted, losses, refused: 0 };
  tables.takenClaims.set(runId, [...before, note]);
  row.crashes = crashes;
  if (losses > 0) row.availableAtUs = nowUs + toUs(delayAfterLosses(losses));
  if (outcome === "waiting" || outcome === "paused") moveRun(tables, row, outcome);
  else if (outcome === "restarted") restart(tables, row, nowUs);
  else {
    ended.push(endRun(tables, row, outcome, nowUs));
    const reason = outcome === "dead" ? crashReason(crashes, holders) : orphanedError(previousOwner);
    appendEntry(tables, row, { kind: outcome, name: "", key: null, payload: jsonPayload(reason) }, nowUs);
  }
  const node = tables.nodes.get(previousOwner);
  const leaseMs = node?.alone ? null : (node?.leaseMs ?? null);
  const renewedAgoMs = leaseMs === null ? null : expiredForMs + leaseMs;
  const previous = { previousOwner, previousIdentity: node?.identity ?? null, previousName: node?.name ?? null };
  return { runId, outcome, ...previous, epoch, crashes, expiredForMs, renewedAgoMs };
}

function verdictOn(tables: Tables, row: ExpiredRow, policy: Recovery): Verdict {
  const taken = takenOf(tables, row.id);
  const last = row.crashes > 1 ? taken.filter(({ counted }) => counted).slice(1 - row.crashes) : [];
  const forgiven = last.filter((one) => wasLost(tables, one));
  const died = row.crashes - forgiven.length;
  const restarts = restartsOf(tables, row, policy);
  const outcome = outcomeFor(tables, row, policy, { died, restarts });
  const previous = row.crashes > 0 ? taken.find(({ epoch }) => epoch === row.epoch - 1) : undefined;
  const losses = previous && wasLost(tables, previous) ? Math.min(previous.losses + 1, MOST_LOSSES) : 0;
  const counted = row.crashes > 0 || outcome === "restarted";
  const isOver = outcome === "restarted" || outcome === "dead";
  const crashes = isOver && restarts !== null ? Math.max(died, restarts + 1) : died;
  return { outcome, counted, crashes, forgiven, losses };
}

/** A run that gathers events has not begun: whatever its program's policy, another node resumes it. */
function outcomeFor(
  tables: Tables,
  row: ExpiredRow,
  policy: Recovery,
  { died, restarts }: { readonly died: number; readonly restarts: number | null },
): Reclaimed["outcome"] {
  const begun = hasBegun(tables, row);
  if (policy === "fail" && begun) return "failed";
  if (areTooMany(tables, row, died) || (restarts !== null && areTooMany(tables, row, restarts + 1))) return "dead";
  if (row.pausing) return "paused";
  // A run with open tasks is resumed.
  return policy === "restart" && begun && row.pending === 0 ? "restarted" : "waiting";
}

function hasBegun(tables: Tables, row: RunRow): boolean {
  const start = tables.journal.get(row.id)?.get(row.baseSeq + 1);
  return start !== undefined && readTicket(start.key) === null;
}

/** Too many crashes that were its own, as far as can be known. */
function areTooMany(tables: Tables, row: ExpiredRow, crashes: number): boolean {
  const { crashLimit } = row;
  if (crashes < crashLimit) return false;
  return crashLimit === 1 || crashes >= NOT_ALONE_FACTOR * crashLimit || !wasBesideOthers(tables, row);
}

/** The process that held it also held other runs: one of those may have killed it. */
function wasBesideOthers(tables: Tables, { id, owner }: ExpiredRow): boolean {
  if ((tables.nodes.get(owner)?.leaseMs ?? null) === null) return false;
  const sinceUs = tables.nowUs() - toUs(SAME_CRASH_MS);
  const isOther = (one: { readonly owner: string | null; readonly atUs: number }) =>
    one.owner === owner && one.atUs > sinceUs;
  return (
    runsInState(tables, "running").some((other) => other.owner === owner && other.id !== id) ||
    [...tables.takenClaims].some(([runId, taken]) => runId !== id && taken.some(isOther))
  );
}

function takenOf(tables: Tables, runId: string): readonly TakenClaimRow[] {
  return tables.takenClaims.get(runId) ?? [];
}

/**
 * Its holder showed a sign of life since: it was cut off and did not die. A worker of the queue API has no lease: its
 * timeout counts.
 */
function wasLost(tables: Tables, { owner, atUs }: TakenClaimRow): boolean {
  const node = tables.nodes.get(owner);
  return node !== undefined && node.leaseMs !== null && node.seenAtUs > atUs;
}

/** The processes that died with it, including the last one. */
function holdersOf(tables: Tables, { id, epoch, owner }: ExpiredRow, crashes: number): readonly DeadHolder[] {
  const died = takenOf(tables, id).filter((one) => one.counted && !wasLost(tables, one));
  const most = Math.min(crashes, NAMED_HOLDERS) - 1;
  const last = most > 0 ? died.slice(-most) : [];
  return [...last, { epoch, owner }].map((one) => {
    return { epoch: one.epoch, incarnation: one.owner, node: tables.nodes.get(one.owner)?.name ?? null };
  });
}

/**
 * Restarts since it was begun: progress resets crashes, and a run that kills its process in its second step makes some.
 * Without holders that were cut off. Null: the policy is not `restart`.
 */
function restartsOf(tables: Tables, row: RunRow, policy: Recovery): number | null {
  if (policy !== "restart" || row.counts || row.pending > 0) return null;
  const starts = [...(tables.journal.get(row.id)?.values() ?? [])].filter(
    ({ kind }) => kind === "start" || kind === "retried",
  );
  if (starts.length === 0) return null;
  const begun = starts.findLastIndex(({ kind, name }) => kind === "retried" || name !== "recovery");
  const restarts = starts.slice(begun + 1).filter(({ kind }) => kind === "start").length;
  const taken = takenOf(tables, row.id).filter(({ outcome }) => outcome === "restarted");
  return restarts === 0 ? 0 : taken.slice(-restarts).filter((one) => !wasLost(tables, one)).length;
}

/** The next generation, with the same input and messages; counted crashes stay counted. */
function restart(tables: Tables, row: RunRow, nowUs: number): void {
  const start = tables.journal.get(row.id)?.get(row.baseSeq + 1);
  nextGeneration(row);
  row.failures = 0;
  moveRun(tables, row, "waiting");
  for (const message of tables.inbox.get(row.id) ?? []) {
    if ((message.takenSeq ?? 0) > row.baseSeq) message.takenSeq = null;
  }
  row.baseSeq = row.seq;
  appendEntry(tables, row, { kind: "start", name: "recovery", key: null, payload: start?.payload ?? null }, nowUs);
}

// Grants claims: the due runs of the requested groups, in order, each with a raised epoch and the caller's token.

import { readTicket } from "../../../kernel/run/debounce-ticket.js";
import { suspectFrom } from "../../../kernel/run/suspicion.js";
import { GIVEN, type Given, type JournalEntry, type Peek } from "../../contract/journal/journal.js";
import { namesOf } from "../../contract/run/misfits.js";
import type { ClaimedRun, ClaimRequest } from "../../contract/run/runs.js";
import { unreadMessages } from "../inbox/deliver-message.js";
import { journalEntry, peek } from "../journal/read-journal.js";
import { isPaused } from "../limit/queues.js";
import { takeDeferral } from "../run/deferred-runs.js";
import { fitsNode } from "../run/misfits.js";
import { moveRun } from "../run/move-run.js";
import { toMs, toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import { copyPayload } from "../table/payload.js";
import type { RunRow } from "../table/rows.js";
import { runsInState, type Tables } from "../table/tables.js";

export function claimRuns(tables: Tables, request: ClaimRequest): readonly ClaimedRun[] {
  const { owner, token, limit } = request;
  if (limit < 1 || request.groupIds.length === 0) return [];
  const held = runsInState(tables, "running").filter((row) => row.token === token && row.owner === owner);
  // The answer to this very call was lost: return exactly what it granted, and nothing more.
  const rows = held.length > 0 ? held.sort(inTurn) : due(tables, request);
  // Before anything is granted: a parent that is claimed together with its task is reported in its earlier state.
  const given = rows.map((row) => (row.counts ? givenTo(tables, row) : []));
  if (held.length === 0) grant(tables, rows, request);
  return rows.map((row, i) => claimed(tables, row, token, given[i]!));
}

function due(tables: Tables, request: ClaimRequest): RunRow[] {
  const nowUs = tables.nowUs();
  const { groupIds, limit, suspects, recentMs } = request;
  const groups = new Set(groupIds);
  const names = namesOf(request.build, request.owner);
  const rows = runsInState(tables, "waiting")
    .filter((row) => groups.has(row.groupId) && row.availableAtUs <= nowUs && !isPaused(tables, row))
    .filter((row) => isRecent(row, nowUs, recentMs))
    .filter((row) => suspects !== 0 || !isSuspect(row, row.crashes))
    .filter((row) => fitsNode(row, names))
    .sort(inTurn)
    .slice(0, limit);
  if (suspects === undefined) return rows;
  const first = rows.find((row) => isSuspect(row, row.crashes));
  return rows.filter((row) => row === first || !isSuspect(row, row.crashes));
}

/** In how many ms the next run of these groups can be claimed: an idle node sleeps until then. Paused queues are left out. */
export function nextDue(tables: Tables, groupIds: readonly number[], recentMs?: number | null): number | null {
  const groups = new Set(groupIds);
  const nowUs = tables.nowUs();
  const due = runsInState(tables, "waiting").flatMap((row) =>
    groups.has(row.groupId) && !isPaused(tables, row) && isRecent(row, nowUs, recentMs) ? row.availableAtUs : [],
  );
  return due.length === 0 ? null : Math.ceil((due.reduce((a, b) => Math.min(a, b)) - nowUs) / 1000);
}

function isRecent({ availableAtUs }: RunRow, nowUs: number, recentMs?: number | null): boolean {
  return recentMs === undefined || recentMs === null || availableAtUs > nowUs - toUs(recentMs);
}

export function isSuspect({ crashLimit }: RunRow, crashes: number): boolean {
  return crashes >= suspectFrom(crashLimit);
}

function grant(tables: Tables, rows: readonly RunRow[], request: ClaimRequest): void {
  const nowUs = tables.nowUs();
  for (const row of rows) {
    moveRun(tables, row, "running");
    row.epoch++;
    row.crashes++; // Counted at the claim and reset by progress, so that a run that kills its process is counted, too.
    row.token = request.token;
    row.owner = request.owner;
    row.leaseUntilUs = nowUs + toUs(request.leaseMs);
    takeDeferral(tables, row.id, request.owner, nowUs);
  }
}

function inTurn(a: RunRow, b: RunRow): number {
  return a.priority - b.priority || a.availableAtUs - b.availableAtUs || compareText(a.id, b.id);
}

function claimed(tables: Tables, row: RunRow, token: string, given: readonly Given[]): ClaimedRun {
  const start = tables.journal.get(row.id)?.get(row.baseSeq + 1);
  return {
    runId: row.id,
    epoch: row.epoch,
    token,
    groupId: row.groupId,
    priority: row.priority,
    seq: row.seq,
    baseSeq: row.baseSeq,
    generation: row.generation,
    inboxSeq: row.inboxSeq,
    failures: row.failures,
    crashes: row.crashes,
    suspect: isSuspect(row, row.crashes - 1),
    parentId: row.parentId,
    limited: row.limited,
    counts: row.counts,
    given,
    log: shortLog(tables, row),
    input: copyPayload(start?.payload ?? { codec: "", data: "" }),
    debounce: readTicket(start?.key),
    deferredBy: tables.deferred.get(row.id)?.by ?? null,
    hasMessages: unreadMessages(tables, row.id).length > 0,
    claimedAt: toMs(tables.nowUs()),
  };
}

function givenTo(tables: Tables, { id, parentId }: RunRow): Given[] {
  const needs = (tables.needed.get(id) ?? []).filter((need) => tables.runs.has(need));
  const wanted: Peek[] = needs.length > GIVEN.needs ? [] : needs.map((runId) => ({ runId, what: "end" }));
  if (parentId !== null) wanted.unshift({ runId: parentId, what: "start" });
  return wanted.flatMap((one) => {
    const { state, entry } = peek(tables, one) ?? {};
    return state && entry && isShort(entry) ? { ...one, state, entry } : [];
  });
}

function shortLog(tables: Tables, { id, seq, baseSeq }: RunRow): JournalEntry[] | null {
  const length = seq - baseSeq;
  if (length < 2 || length > GIVEN.entries) return null;
  const rows = Array.from({ length }, (_, i) => tables.journal.get(id)?.get(baseSeq + 1 + i));
  const entries = rows.flatMap((row) => (row ? journalEntry(row) : []));
  return entries.length === length && entries.every(isShort) ? entries : null;
}

function isShort({ payload }: JournalEntry): boolean {
  return Buffer.byteLength(payload?.data ?? "") <= GIVEN.bytes;
}

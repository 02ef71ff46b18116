// Views of the memory store over journals and claims.

import { omit } from "../../../kernel/omit.js";
import { isEnded } from "../../../kernel/run/run-state.js";
import type { Outline, OutlineRequest, Question, Takeover } from "../../contract/view/views.js";
import { holderOf } from "../claim/claims.js";
import { journalEntry } from "../journal/read-journal.js";
import { keyOf } from "../run/deferred-runs.js";
import { toMs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { JournalRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import type { Placed } from "./page-after.js";

export function outline(tables: Tables, request: OutlineRequest): Outline | null {
  const { runId, before, limit, last = false } = request;
  const run = tables.runs.get(runId);
  if (!run) return null;
  const low = request.after ?? run.baseSeq;
  const high = Math.min((before ?? Number.POSITIVE_INFINITY) - 1, run.seq);
  const [from, to] = last ? [Math.max(low, high - limit), high] : [low, Math.min(high, low + limit)];
  const entries = [...(tables.journal.get(runId)?.values() ?? [])]
    .filter(({ seq }) => seq > from && seq <= to)
    .sort((a, b) => a.seq - b.seq)
    .map((row) => {
      const bytes = row.payload && Buffer.byteLength(row.payload.data);
      return { ...omit(journalEntry(row), "payload"), bytes, codec: row.payload?.codec ?? null };
    });
  return { state: run.state, seq: run.seq, baseSeq: run.baseSeq, key: keyOf(tables, runId)?.key ?? null, entries };
}

export function questions(tables: Tables, env: string): Placed<Question>[] {
  const open = [...tables.runs.values()]
    .filter((run) => run.group.env === env && !isEnded(run.state))
    .flatMap((run) => askedBy(tables, run).map((entry) => ({ run, entry })));
  return open
    .sort((a, b) => compareText(b.run.id, a.run.id) || b.entry.seq - a.entry.seq)
    .map(({ run, entry }) => {
      const { program, stack } = run.group;
      const row = { runId: run.id, program, stack, baseSeq: run.baseSeq, entry: journalEntry(entry) };
      return { place: `${run.id}/${entry.seq}`, row };
    });
}

function askedBy(tables: Tables, { id, baseSeq }: RunRow): JournalRow[] {
  const entries = [...(tables.journal.get(id)?.values() ?? [])].filter(({ seq }) => seq > baseSeq);
  const sent = new Set((tables.inbox.get(id) ?? []).map(({ key }) => key));
  return entries.filter(({ kind, name, key, seq }) => {
    if (kind !== "approval.begun" || key === null) return false;
    const wait = `wait:${name}:${key}${baseSeq === 0 ? "" : `@${baseSeq}`}`;
    const later = entries.filter((entry) => entry.seq > seq);
    const isDecided = later.some((entry) => entry.kind === "take" && entry.key === wait);
    const isRewound = later.some((entry) => entry.kind === "retried" && entry.payload !== null);
    return !sent.has(wait) && !isDecided && !isRewound;
  });
}

export function takeovers(tables: Tables, env: string): Placed<Takeover>[] {
  return [...tables.takenClaims]
    .flatMap(([runId, claims]) => claims.map((claim) => ({ runId, claim, run: tables.runs.get(runId) })))
    .flatMap(({ runId, claim, run }) => (run?.group.env === env ? [{ runId, claim, program: run.group.program }] : []))
    .sort((a, b) => b.claim.atUs - a.claim.atUs || compareText(b.runId, a.runId) || b.claim.epoch - a.claim.epoch)
    .map(({ runId, claim, program }) => {
      const { epoch, atUs, owner, by, outcome } = claim;
      const row = {
        runId,
        program,
        epoch,
        at: toMs(atUs),
        from: holderOf(tables, owner)!,
        by: holderOf(tables, by),
        outcome,
      };
      return { place: `${atUs}/${runId}/${epoch}`, row };
    });
}

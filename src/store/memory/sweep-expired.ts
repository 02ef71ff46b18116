// Takes back the claims whose lease is over. Changes state only; the ordinary claim picks the runs up.

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

interface ExpiredRow extends RunRow {
  leaseUntilUs: number;
  owner: string;
}

export function sweepExpired(
  tables: Tables,
  options: { readonly limit: number },
  gone: ReadonlySet<string> = new Set(),
): readonly Reclaimed[] {
  refuse(checkLimit("limit", options.limit));
  const nowUs = tables.nowUs();
  return takeBackAll(tables, options.limit, (row) => row.leaseUntilUs <= nowUs || gone.has(row.owner));
}

/** What these owners hold. */
export function takeBackFrom(tables: Tables, owners: ReadonlySet<string>): readonly Reclaimed[] {
  return takeBackAll(tables, Number.POSITIVE_INFINITY, ({ owner }) => owners.has(owner));
}

function takeBackAll(tables: Tables, limit: number, isOver: (row: ExpiredRow) => boolean): readonly Reclaimed[] {
  const nowUs = tables.nowUs();
  const rows = (runsInState(tables, "running") as ExpiredRow[])
    .filter(isOver)
    .sort((a, b) => a.leaseUntilUs - b.leaseUntilUs || compareText(a.id, b.id))
    .slice(0, Math.max(limit, 0));
  const dead: Ended[] = [];
  const reclaimed = rows.map((row) => takeBack(tables, row, nowUs, dead));
  settleEnds(tables, dead, nowUs);
  return reclaimed;
}

function takeBack(tables: Tables, row: ExpiredRow, nowUs: number, dead: Ended[]): Reclaimed {
  const { id: runId, owner: previousOwner, epoch, crashes } = row;
  const expiredForMs = toMs(nowUs - row.leaseUntilUs);
  const outcome = crashes >= row.crashLimit ? "dead" : row.pausing ? "paused" : "waiting";
  if (outcome !== "dead") {
    moveRun(tables, row, outcome);
  } else {
    dead.push(endRun(tables, row, outcome, nowUs));
    const payload = jsonPayload({ code: "CRASH_LIMIT", crashes });
    appendEntry(tables, row, { kind: "dead", name: "", key: null, payload }, nowUs);
  }
  const node = tables.nodes.get(previousOwner);
  const leaseMs = node?.alone ? null : (node?.leaseMs ?? null);
  const renewedAgoMs = leaseMs === null ? null : expiredForMs + leaseMs;
  const previous = { previousOwner, previousIdentity: node?.identity ?? null, previousName: node?.name ?? null };
  return { runId, outcome, ...previous, epoch, crashes, expiredForMs, renewedAgoMs };
}

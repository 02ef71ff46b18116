// Runs whose journal does not fit some builds: which were tried, and whether a live node is left that may fit.

import { isUuid } from "../../../kernel/id.js";
import { isTokenOf } from "../../../kernel/run/claim.js";
import type { MisfitEffect } from "../../../kernel/run/effect.js";
import { isEnded } from "../../../kernel/run/run-state.js";
import {
  ANYBODYS_ENTRIES,
  LOOK_AGAIN_MS,
  type Misfit,
  type MisfitReview,
  type MisfitReviewed,
  namesOf,
  noFittingNode,
} from "../../contract/run/misfits.js";
import { appendEntry } from "../journal/append-entry.js";
import { isAlive } from "../node/nodes.js";
import { toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import { jsonPayload } from "../table/payload.js";
import type { NodeRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { moveRun } from "./move-run.js";

export function fitsNode(row: RunRow, names: readonly string[]): boolean {
  return row.misfits === null || !row.misfits.some((tried) => names.includes(tried));
}

export function misfitOf(tables: Tables, row: RunRow): Misfit | null {
  if (row.misfits === null) return null;
  return { builds: [...row.misfits], wanted: tables.misfits.get(row.id)?.wanted ?? null };
}

/** The holder releases the run for another build. Called after its entry was written, while it is still held. */
export function giveToOthers(tables: Tables, row: RunRow, { build }: MisfitEffect, nowUs: number): void {
  const writer = lastWriter(tables, row);
  // The same build on another node wrote what does not fit here, so the build's name covers two different codes.
  const tried = writer?.build === build && writer.incarnation !== row.owner ? row.owner! : build;
  row.misfits = [...(row.misfits ?? []).filter((name) => !isUuid(name) || isLiveNode(tables, name)), tried];
  const wanted = writer?.build ?? tables.misfits.get(row.id)?.wanted ?? null;
  tables.misfits.set(row.id, { runId: row.id, wanted, lookAtUs: nowUs });
  const shut = !row.pausing && !hasUntried(tables, row);
  moveRun(tables, row, shut ? "quarantined" : "waiting");
  if (shut) row.endedAtUs = nowUs;
}

/** Before this claim. */
function lastWriter(tables: Tables, { id, token: own }: RunRow): NodeRow | undefined {
  const log = [...(tables.journal.get(id)?.values() ?? [])].sort((a, b) => a.seq - b.seq);
  const last = log.findLast(({ token, kind }) => token !== null && token !== own && !ANYBODYS_ENTRIES.includes(kind));
  if (!last) return undefined;
  return [...tables.nodes.values()].find(({ incarnation }) => isTokenOf(incarnation, last.token!));
}

function isLiveNode(tables: Tables, incarnation: string): boolean {
  const node = tables.nodes.get(incarnation);
  return node !== undefined && isAlive(tables, node);
}

/** Whether a live node that claims from its group has not been tried. */
function hasUntried(tables: Tables, row: RunRow): boolean {
  return [...tables.nodes.values()].some(
    (node) =>
      node.env === row.group.env &&
      isAlive(tables, node) &&
      node.claims.includes(row.groupId) &&
      fitsNode(row, namesOf(node.build, node.incarnation)),
  );
}

export function misfitsDue(tables: Tables, incarnation: string, nowUs: number): boolean {
  const env = tables.nodes.get(incarnation)?.env;
  return inEnv(tables, env ?? null).some(({ lookAtUs }) => lookAtUs <= nowUs);
}

function inEnv(tables: Tables, env: string | null) {
  return [...tables.misfits.values()].filter(({ runId }) => {
    const row = tables.runs.get(runId);
    return row === undefined || row.group.env === env;
  });
}

export function reviewMisfits(tables: Tables, review: MisfitReview): readonly MisfitReviewed[] {
  const { env, limit, newcomer } = review;
  const nowUs = tables.nowUs();
  const due = newcomer === undefined ? dueIn(tables, env, nowUs) : untriedBy(tables, env, newcomer);
  const reviewed = due.slice(0, Math.max(limit, 0)).flatMap((runId) => lookAt(tables, runId, nowUs) ?? []);
  return reviewed.sort((a, b) => compareText(a.runId, b.runId));
}

function dueIn(tables: Tables, env: string, nowUs: number): string[] {
  const due = inEnv(tables, env).filter(({ lookAtUs }) => lookAtUs <= nowUs);
  return due.sort((a, b) => a.lookAtUs - b.lookAtUs).map(({ runId }) => runId);
}

function untriedBy(tables: Tables, env: string, newcomer: string): string[] {
  const node = tables.nodes.get(newcomer);
  if (!node) return [];
  const rows = inEnv(tables, env).flatMap(({ runId }) => tables.runs.get(runId) ?? []);
  const names = namesOf(node.build, node.incarnation);
  return rows
    .filter((row) => row.state === "quarantined" && node.claims.includes(row.groupId) && fitsNode(row, names))
    .map(({ id }) => id);
}

function lookAt(tables: Tables, runId: string, nowUs: number): MisfitReviewed | null {
  const row = tables.runs.get(runId);
  if (!row || row.misfits === null || isEnded(row.state)) {
    tables.misfits.delete(runId);
    return null;
  }
  const known = tables.misfits.get(runId)!;
  tables.misfits.set(runId, { ...known, lookAtUs: nowUs + toUs(LOOK_AGAIN_MS) });
  const fits = hasUntried(tables, row);
  const { program } = row.group;
  if (row.state === "quarantined" && fits) {
    moveRun(tables, row, "waiting");
    tables.ready.add(row);
    return { runId, program, outcome: "lifted" };
  }
  if (row.state !== "waiting" || fits) return null;
  moveRun(tables, row, "quarantined");
  const payload = jsonPayload(noFittingNode(row.misfits));
  appendEntry(tables, row, { kind: "quarantined", name: "", key: null, payload }, nowUs);
  row.endedAtUs = nowUs;
  return { runId, program, outcome: "quarantined" };
}

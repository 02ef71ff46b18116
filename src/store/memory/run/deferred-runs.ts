// Deferred runs: recorded next to the run when it is inserted, removed by the claim, cancelled when not claimed in
// time.

import { omit } from "../../../kernel/omit.js";
import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import { isEnded } from "../../../kernel/run/run-state.js";
import { OUTPUT_SCOPE } from "../../contract/run/outputs.js";
import { DEFERRED_EXPIRED, type Deferral, type StackQuery } from "../../contract/run/runs.js";
import { appendEntry } from "../journal/append-entry.js";
import { isAlive } from "../node/nodes.js";
import { shown, toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import { jsonPayload } from "../table/payload.js";
import type { DeferredRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { type Ended, endRun, settleEnds } from "./end-run.js";
import { copyGroup } from "./group-table.js";

export function noteDeferral(tables: Tables, run: Omit<NewRun, "key">, nowUs: number): void {
  if (!run.deferred) return;
  const { by, expiresInMs } = run.deferred;
  const expiresAtUs = expiresInMs === null ? null : nowUs + toUs(run.delayMs + expiresInMs);
  tables.deferred.set(run.id, { runId: run.id, by, expiresAtUs, takenBy: null, takenAtUs: null, pending: true });
}

export function takeDeferral(tables: Tables, runId: string, owner: string, nowUs: number): void {
  const row = tables.deferred.get(runId);
  if (!row?.pending) return;
  row.takenBy = owner;
  row.takenAtUs = nowUs;
  row.pending = false;
}

export function deferralOf(tables: Tables, runId: string): Deferral | null {
  const row = tables.deferred.get(runId);
  return row ? omit(shown(row), "runId", "pending") : null;
}

export function overdueDeferred(tables: Tables, nowUs: number): DeferredRow[] {
  return [...tables.deferred.values()]
    .filter(({ pending, expiresAtUs }) => pending && expiresAtUs !== null && expiresAtUs <= nowUs)
    .sort((a, b) => a.expiresAtUs! - b.expiresAtUs! || compareText(a.runId, b.runId));
}

/** Returns the runs it cancelled. */
export function expireDeferred(tables: Tables, options: { readonly env: string; readonly limit: number }): RunRow[] {
  const { env, limit } = options;
  const nowUs = tables.nowUs();
  const ended: Ended[] = [];
  const overdue = overdueDeferred(tables, nowUs).filter(({ runId }) => tables.runs.get(runId)?.group.env === env);
  for (const due of overdue.slice(0, Math.max(limit, 0))) {
    due.pending = false;
    const row = tables.runs.get(due.runId);
    if (!row || row.state === "running" || isEnded(row.state)) continue;
    if (row.counts) continue;
    ended.push(endRun(tables, row, "cancelled", nowUs));
    const payload = jsonPayload(DEFERRED_EXPIRED);
    appendEntry(tables, row, { kind: "cancelled", name: "", key: null, payload }, nowUs);
  }
  settleEnds(tables, ended, nowUs);
  return ended.map(({ row }) => row);
}

export function unservedGroups(
  tables: Tables,
  query: StackQuery,
): readonly { readonly id: number; readonly group: RunGroup }[] {
  const { env, stacks, own, programs } = query;
  const live = [...tables.nodes.values()].filter((node) => node.env === env && isAlive(tables, node));
  return tables.groups
    .all()
    .filter(({ id, group }) => {
      const wanted = group.stack !== null && group.stack !== own && (stacks === null || stacks.includes(group.stack));
      const ours = programs.some(
        ({ queue, program, version }) =>
          group.queue === queue && group.program === program && group.version === (version ?? null),
      );
      const served = live.some(({ stack, claims }) => stack === group.stack && claims.includes(id));
      return group.env === env && wanted && ours && !served;
    })
    .map(({ id, group }) => ({ id, group: copyGroup(group) }))
    .sort(({ group: a }, { group: b }) => compareText(nameOf(a), nameOf(b)));
}

/** A space sorts before every character of a name. */
function nameOf({ stack, queue, program, version }: RunGroup): string {
  return [stack, queue, program, version ?? ""].join(" ");
}

export function keyOf(tables: Tables, runId: string): { scope: string; key: string } | null {
  const found = [...tables.keys.values()]
    .filter((row) => row.runId === runId && row.scope !== OUTPUT_SCOPE)
    .sort((a, b) => compareText(a.scope, b.scope) || compareText(a.key, b.key));
  return found[0] ? { scope: found[0].scope, key: found[0].key } : null;
}

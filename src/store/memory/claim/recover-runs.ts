// Lists orphaned runs, and reclaims each with the policy that a caller decided.

import type { Orphan, OrphanFilter, RecoveryDecision } from "../../contract/claim/recovery.js";
import type { Reclaimed } from "../../contract/run/runs.js";
import { copyGroup } from "../run/group-table.js";
import { toMs, toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { Tables } from "../table/tables.js";
import { type ExpiredRow, expiredSince, reclaimWith } from "./reclaim-expired.js";

export function findOrphans(tables: Tables, filter: OrphanFilter): readonly Orphan[] {
  const { env, stack, staleMs, limit, after } = filter;
  const nowUs = tables.nowUs();
  return expiredSince(tables, nowUs - toUs(staleMs))
    .filter(({ id, group }) => {
      const inStack = (stack ?? null) === null || group.stack === null || group.stack === stack;
      return ((env ?? null) === null || group.env === env) && inStack && (!after || id > after);
    })
    .sort((a, b) => compareText(a.id, b.id))
    .slice(0, Math.max(limit, 0))
    .map((row) => orphanOf(tables, row, nowUs));
}

function orphanOf(tables: Tables, row: ExpiredRow, nowUs: number): Orphan {
  const { id: runId, groupId, owner, epoch, crashes, crashLimit } = row;
  const recovery = row.recovery ?? tables.groups.recoveryOf(groupId);
  const expiredForMs = toMs(nowUs - row.leaseUntilUs);
  return { runId, group: copyGroup(row.group), owner, epoch, crashes, crashLimit, expiredForMs, recovery };
}

export function recoverRuns(
  tables: Tables,
  decisions: readonly RecoveryDecision[],
  { staleMs }: { readonly staleMs: number },
): readonly Reclaimed[] {
  const decided = new Map(decisions.map((decision) => [decision.runId, decision]));
  const rows = expiredSince(tables, tables.nowUs() - toUs(staleMs)).filter(
    ({ id, epoch }) => decided.get(id)?.epoch === epoch,
  );
  return reclaimWith(tables, rows, { by: null, policyOf: ({ id }) => decided.get(id)!.policy });
}

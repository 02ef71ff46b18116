// The nodes' declarations about their programs: limits, for callers that start a run without having its code, and
// recovery policies.

import type { DeclarationConflict, DeclaredProgram } from "../../contract/run/runs.js";
import { isSilent } from "../node/presence.js";
import { type Declared, declaredText } from "../run/group-table.js";
import { compareText } from "../table/names.js";
import type { NodeRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/**
 * Only for groups that the node serves and claims from now. Of two nodes, the one that started later decides, while it
 * is live.
 */
export function declarePrograms(
  tables: Tables,
  incarnation: string,
  programs: readonly DeclaredProgram[],
): readonly DeclarationConflict[] {
  const me = tables.nodes.get(incarnation);
  if (programs.length === 0 || !me || me.stoppedAtUs !== null) return [];
  const mine = programs.flatMap(({ group, limits, recovery = "resume", cleansUp = false }) => {
    const id = tables.groups.idOf(group);
    const declared = { limits, recovery, cleansUp, by: incarnation, startedAtUs: me.startedAtUs };
    const isEngineError = group.env === me.env && me.claims.includes(id) && me.serves.includes(id);
    return isEngineError ? [{ id, group, declared }] : [];
  });
  me.declared = new Map(mine.map(({ id, declared }) => [id, declaredText(declared)]));
  return mine.flatMap(({ id, group, declared }): DeclarationConflict[] => {
    const { cleansUp } = declared;
    const was = tables.groups.declaredFor(id);
    const isSame = was && declaredText(was) === declaredText(declared);
    if (isSame && was.cleansUp === cleansUp) return [];
    const declarer = was ? tables.nodes.get(was.by) : undefined;
    const stands = declarer !== undefined && takesFrom(tables, declarer, id);
    const isNewer = !was || compareStart(was, declared) <= 0 || (declarer !== undefined && !stands);
    if (isNewer) tables.groups.declare(id, declared);
    if (!was || isSame || (isNewer && (!stands || declarer === me))) return [];
    const other = declarer?.identity ?? was.by;
    const of = (["limits", "recovery"] as const).filter(
      (field) => JSON.stringify(was[field]) !== JSON.stringify(declared[field]),
    );
    return [{ group, of, holds: isNewer ? me.identity : other, overruled: isNewer ? other : me.identity }];
  });
}

function takesFrom(tables: Tables, node: NodeRow, id: number): boolean {
  return node.stoppedAtUs === null && !isSilent(tables, node) && node.claims.includes(id);
}

function compareStart(a: Declared, b: Declared): number {
  return a.startedAtUs - b.startedAtUs || compareText(a.by, b.by);
}

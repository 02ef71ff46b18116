// Stores what nodes declare for their programs: limits, for callers that start a run without its code, and the recovery policy.

import type { LimitRule } from "../../../kernel/limit-rule.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { DeclarationConflict, DeclaredProgram } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { bool, int, rowset, text } from "../connection/rowset.js";
import { isSilent } from "../node/presence-sql.js";
import type { Groups } from "../run/groups.js";

/** A digest of what was declared, of a row with `limits` and `recovery`. */
export const declaredDigest = (row: string) => `md5(${row}.limits || ' ' || ${row}.recovery)`;

const OTHERWISE = "(g.limits, g.recovery, g.cleans_up) is distinct from (d.limits, d.recovery, d.cleans_up)";
/** Node `n` lives and takes runs of the group: its declaration applies. One that was busy for a moment is not gone. */
const stands = (now: string) => `(n.stopped_at is null and (${isSilent(now)}) is not true and g.id = any(n.claims))`;

const DECLARED = rowset<DeclaredProgram & { readonly groupId: number }>()({
  id: int(({ groupId }) => groupId),
  env: text(({ group }) => group.env),
  limits: text(({ limits }) => JSON.stringify(limits)),
  recovery: text(({ recovery = "resume" }) => recovery),
  cleans_up: bool(({ cleansUp = false }) => cleansUp),
});
const declared = DECLARED.from(2);

/**
 * Only for groups of its env that the node serves and takes runs of now: other nodes do not change what applies there. Of two nodes the one that started
 * later decides; the older one when that one is gone. A declarer whose row cannot be seen has registered since this statement
 * began, and counts as there. Rows that say so already are left alone: nodes that start together do not wait for each other.
 */
export const declarePrograms = statement(
  "declare_programs",
  "Declares limits and recovery policy of a node's programs, and reports conflicts.",
  ({ schema: s, now }: Dialect) => `
with d as materialized (
  select d.id, d.limits, d.recovery, d.cleans_up, n.incarnation, n.identity, n.started_at
  from ${s}.nodes n, ${declared.as("d")}
  where d.env = n.env and n.incarnation = $1::uuid and n.stopped_at is null and d.id = any(n.claims) and d.id = any(n.serves)
), noted as (
  update ${s}.nodes n set declared = x.declared
  from (select coalesce(jsonb_object_agg(d.id::text, ${declaredDigest("d")}), '{}') as declared from d) x
  where n.incarnation = $1::uuid and n.declared <> x.declared
), was as materialized (
  select d.id, d.identity, g.limits <> d.limits as of_limits, g.recovery <> d.recovery as of_recovery,
    coalesce(n.identity, g.declared_by::text) as declarer, n.incarnation <> d.incarnation and ${stands(now)} as stands
  from d join ${s}.claim_groups g on g.id = d.id left join ${s}.nodes n on n.incarnation = g.declared_by
  where (g.limits, g.recovery) is distinct from (d.limits, d.recovery)
), l as materialized (
  select g.id from d join ${s}.claim_groups g on g.id = d.id
  where ${OTHERWISE} and (g.declared_by is null or (g.declared_start, g.declared_by) <= (d.started_at, d.incarnation)
    or exists (select from ${s}.nodes n where n.incarnation = g.declared_by and not ${stands(now)}))
  order by g.id for no key update of g
), changed as (
  update ${s}.claim_groups g
  set limits = d.limits, recovery = d.recovery, cleans_up = d.cleans_up, declared_by = d.incarnation, declared_start = d.started_at
  from d where g.id = d.id and g.id = any(array(select id from l))
  returning g.id
)
select was.*, c.id is not null as changed from was left join changed c on c.id = was.id
where was.stands or c.id is null
order by array_position(${declared.array("id")}, was.id)`,
);

const readLimits = statement(
  "read_limits",
  "Reads the limits that are declared for a claim group.",
  ({ schema: s }) => `select limits::json from ${s}.claim_groups where id = $1`,
);

interface ConflictRow {
  id: number;
  identity: string;
  of_limits: boolean;
  of_recovery: boolean | null;
  declarer: string;
  changed: boolean;
}

export async function declare(
  db: Database,
  groups: Groups,
  incarnation: string,
  programs: readonly DeclaredProgram[],
): Promise<readonly DeclarationConflict[]> {
  if (programs.length === 0) return [];
  let ids: readonly number[] = [];
  const values = async () => {
    ids = await groups.ids(programs.map(({ group }) => group));
    return [incarnation, ...DECLARED.arrays(programs.map((program, i) => ({ ...program, groupId: ids[i]! })))];
  };
  const rows = await db.run<ConflictRow>(declarePrograms, values);
  return rows.map(({ id, identity, of_limits, of_recovery, declarer, changed }): DeclarationConflict => {
    const of = [...(of_limits ? (["limits"] as const) : []), ...(of_recovery ? (["recovery"] as const) : [])];
    const { group } = programs[ids.indexOf(id)]!;
    return { group, of, holds: changed ? identity : declarer, overruled: changed ? declarer : identity };
  });
}

export async function limitsOf(db: Database, groups: Groups, group: RunGroup): Promise<readonly LimitRule[]> {
  const [row] = await db.run<{ limits: LimitRule[] }>(readLimits, async () => groups.ids([group]));
  return row?.limits ?? [];
}

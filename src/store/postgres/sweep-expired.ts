// Takes back claims whose lease is over. Changes state only: the ordinary claim picks the run up again.

import type { Reclaimed } from "../contract/runs.js";
import type { Database } from "./database.js";
import { type Dialect, statement } from "./dialect.js";
import { endNotices } from "./end-notices.js";
import { ring } from "./ring.js";

/**
 * CTEs that end in `swept` and `told`, given one `t` with the time. The UPDATE repeats the precondition on rows it has locked; two sweepers never act on one list. (Only running rows have
 * a lease. With the state in the predicate, the planner read the whole index of running rows a second time.) A run whose
 * claims ended in a crash as often as its limit allows is dead, with the reason as the last entry of its journal. Others
 * keep available_at, so that recovered work stands at the front of its queue.
 */
export function sweepParts(d: Dialect, limit: string, condition = "true", gone = ""): string {
  return takeBackParts(d, limit, condition, (row, time) => {
    return `(${row}lease_until <= ${time}${gone && ` or ${row}owner = any(${gone})`})`;
  });
}

/** The same for claims of which `over` tells, given what stands before a column's name and the time. */
export function takeBackParts(
  d: Dialect,
  limit: string,
  condition: string,
  over: (row: string, time: string) => string,
): string {
  const { schema: s, now } = d;
  return `expired as materialized (
  select id, owner, lease_until from ${s}.runs
  where ${condition} and state = 'running' and ${over("", `(select ${now})`)}
  order by lease_until, id
  limit ${limit}
  for no key update skip locked
), swept as (
  update ${s}.runs r
  set state = case when r.crashes >= r.crash_limit then 'dead' else 'waiting' end,
      seq = r.seq + (r.crashes >= r.crash_limit)::int,
      ended_at = case when r.crashes >= r.crash_limit then t.now end,
      token = null, owner = null, lease_until = null
  from unnest(array(select id from expired), array(select owner from expired), array(select lease_until from expired))
    as e(id, owner, lease_until), t
  where r.id = e.id and r.token is not null and ${over("r.", "t.now")}
  returning r.id as run_id, r.claim_group, r.state, r.seq, r.crashes, r.parent_id, e.owner, r.epoch, e.lease_until
), ended as (select run_id, parent_id, state from swept where state = 'dead'
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'dead', '', 'json', '{"code":"CRASH_LIMIT","crashes":' || crashes || '}', t.now
  from swept, t where state = 'dead'
), ${endNotices(d)}`;
}

export const RECLAIMED = ({ schema: s }: Dialect) => `
select run_id, claim_group, state, owner, epoch, crashes, floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  case when n.alone then null else n.lease_ms::float8 end as lease_ms, n.identity, n.name, null::uuid as told
from (select * from swept order by lease_until, run_id) x cross join t
left join lateral (select * from ${s}.nodes n where n.incarnation = x.owner limit 1) n on true
union all
select null, null, null, null, null, null, null, null, null, null, run_id from told`;

export const sweepExpired = statement(
  "sweep_expired",
  (d) => `
with t as materialized (select ${d.now} as now
), ${sweepParts(d, "$1")}${RECLAIMED(d)}`,
);

export interface ReclaimedRow {
  run_id: string | null;
  claim_group: number | null;
  state: "waiting" | "dead";
  owner: string;
  epoch: string;
  crashes: number;
  expired_for_ms: number;
  lease_ms: number | null;
  identity: string | null;
  name: string | null;
  told: string | null;
}

export async function sweep(db: Database, limit: number): Promise<readonly Reclaimed[]> {
  return tellParents(db, await db.run<ReclaimedRow>(sweepExpired, [limit]));
}

/** Rings the parents of the dead, and answers what was taken back. */
export async function tellParents(db: Database, rows: readonly ReclaimedRow[]): Promise<readonly Reclaimed[]> {
  const parents = rows.flatMap((row) => row.told ?? []);
  if (parents.length > 0) await ring(db, parents);
  return rows
    .filter((row) => row.run_id !== null)
    .map((row) => ({
      runId: row.run_id!,
      outcome: row.state,
      previousOwner: row.owner,
      previousIdentity: row.identity,
      previousName: row.name,
      epoch: Number(row.epoch),
      crashes: row.crashes,
      expiredForMs: row.expired_for_ms,
      renewedAgoMs: row.lease_ms === null ? null : row.expired_for_ms + row.lease_ms,
    }));
}

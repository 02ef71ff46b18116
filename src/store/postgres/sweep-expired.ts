// Takes back claims whose lease is over. Changes state only: the ordinary claim picks the run up again.

import type { Reclaimed } from "../contract/runs.js";
import type { Database } from "./database.js";
import { type Dialect, statement } from "./dialect.js";
import { endNotices } from "./end-notices.js";
import { previousOwner, type ReclaimedRow, settleReclaimed } from "./reclaimed.js";

/**
 * CTEs that end in `swept` and `told`, given one `t` with the time. The UPDATE repeats the precondition on rows it has locked; two sweepers never act on one list. (Only running rows have
 * a lease. With the state in the predicate, the planner read the whole index of running rows a second time.) A run whose
 * claims ended in a crash as often as its limit allows is dead, with the reason as the last entry of its journal. Others
 * keep available_at, so that recovered work stands at the front of its queue. A task that is to die is left out and named:
 * its end is counted in rows that must be locked first (bury-task.ts).
 */
export function sweepParts(d: Dialect, limit: string, condition = "true", gone = ""): string {
  const over = (row: string, time: string) =>
    `(${row}lease_until <= ${time}${gone && ` or ${row}owner = any(${gone})`})`;
  return takeBackParts(d, limit, condition, over, gone ? `owner = any(${gone})` : "false");
}

/** The same for claims of which `over` tells, given what stands before a column's name and the time. `isGone`: whatever the lease. */
export function takeBackParts(
  d: Dialect,
  limit: string,
  condition: string,
  over: (row: string, time: string) => string,
  isGone: string,
): string {
  const { schema: s, now } = d;
  return `doomed as materialized (
  select id, epoch, ${isGone} as gone from ${s}.runs
  where ${condition} and state = 'running' and ${over("", `(select ${now})`)} and counts and crashes >= crash_limit
  limit ${limit}
), expired as materialized (
  select id, owner, lease_until from ${s}.runs
  where ${condition} and state = 'running' and ${over("", `(select ${now})`)} and not (counts and crashes >= crash_limit)
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
), ended as (select run_id, parent_id, state, false as counted from swept where state = 'dead'
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'dead', '', 'json', '{"code":"CRASH_LIMIT","crashes":' || crashes || '}', t.now
  from swept, t where state = 'dead'
), ${endNotices(d)}`;
}

export const RECLAIMED = ({ schema: s }: Dialect) => `
select run_id, claim_group, state, owner, epoch, crashes, floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  ${previousOwner(s, "x.owner")}, null::uuid as told, null::uuid as doomed, null::boolean as gone
from (select * from swept order by lease_until, run_id) x, t
union all
select null, null, null, null, null, null, null, null, null, null, run_id, null, null from told
union all
select null, null, null, null, epoch, null, null, null, null, null, null, id, gone from doomed`;

export const sweepExpired = statement(
  "sweep_expired",
  (d) => `
with t as materialized (select ${d.now} as now
), ${sweepParts(d, "$1")}${RECLAIMED(d)}`,
);

export async function sweep(db: Database, limit: number): Promise<readonly Reclaimed[]> {
  return settleReclaimed(db, await db.run<ReclaimedRow>(sweepExpired, [limit]));
}

// Keeps house: sign of life, wake-up and sweep as one statement, so that an idle node sends one query a second.

import type { ModeState } from "../../kernel/node-mode.js";
import type { HouseReport, HouseRound } from "../contract/house.js";
import type { Database } from "./database.js";
import { statement } from "./dialect.js";
import { interval } from "./instant.js";
import { HERE, isHere, isSilent } from "./presence-sql.js";
import { type ReclaimedRow, settleReclaimed } from "./reclaimed.js";
import { RECLAIMED, sweepParts } from "./sweep-expired.js";
import { wakeParts } from "./wake-parked.js";

/**
 * A node that is alone renews nothing, so its claims have no end: whoever reclaims takes them when it has been silent for
 * the time that its lease would have been.
 *
 * The report's own figures stand in every row; a round that reclaims nothing has one row.
 *
 * Rows of nodes that others have locked are left to the next round: after a restart of the database everybody misses
 * everybody at once, and waiting for each other's rows two of these met in a deadlock.
 */
export const keepHouse = statement(
  "keep_house",
  (d) => `
with t as materialized (select ${d.now} as now
), mine as materialized (
  select incarnation from ${d.schema}.nodes where incarnation = $1 and stopped_at is null for no key update skip locked
), beat as (
  update ${d.schema}.nodes n set seen_at = t.now from mine m, t where n.incarnation = m.incarnation
), ${HERE}, changed as materialized (
  select incarnation from ${d.schema}.nodes n
  where n.stopped_at is null and n.presence is not null and n.incarnation <> $1
    and (n.absent_since is null) <> ${isHere("n.presence")}
  for no key update skip locked
), absent as (
  update ${d.schema}.nodes n
  set absent_since = case when ${isHere("n.presence")} then null else coalesce(n.absent_since, t.now) end
  from changed c, t where n.incarnation = c.incarnation
), gone as materialized (
  select n.incarnation from ${d.schema}.nodes n, t
  where (n.stopped_at is null and n.presence is not null and n.absent_since <= t.now - ${interval("$4::float8")}
      and not ${isHere("n.presence")})
    or (n.alone and ${isSilent("t.now")})
), ${wakeParts(d, "$2")}, ${sweepParts(d, "$2", "$1::uuid", "$3", "array(select incarnation from gone)")}
select x.*,
  exists (select from ${d.schema}.nodes where incarnation = $1 and stopped_at is null) as registered,
  (select json_build_object('mode', n.mode, 'overrides', n.overrides, 'drain', n.drain)
   from ${d.schema}.nodes n where n.incarnation = $1 and n.stopped_at is null) as mode,
  exists (select from ${d.schema}.deferred_runs where pending and expires_at <= (select now from t)) as overdue,
  exists (select from ${d.schema}.misfit_runs m
    where m.env = (select env from ${d.schema}.nodes where incarnation = $1) and m.look_at <= (select now from t)) as misfits,
  (select count(*)::int from awake) as woken,
  array(select claim_group from awake where state = 'waiting' union select claim_group from swept where state = 'waiting') as ready,
  case when $5::boolean then (
    select json_agg(json_build_object('runId', r.id, 'inboxSeq', r.inbox_seq))
    from ${d.schema}.runs r
    cross join lateral (select from ${d.schema}.inbox i where i.run_id = r.id and i.taken_seq is null limit 1) i
    where r.state = 'running' and r.owner = $1
  ) end as called,
  exists (select from awake where state = 'held')
    or exists (select from ${d.schema}.run_limits where state = 'waits' and available_at <= (select now from t)) as held,
  ceil(extract(epoch from least(
    (select min(r.wake_at) from ${d.schema}.runs r where r.state = 'parked' and r.wake_at > (select now from t)),
    (select min(l.available_at) from ${d.schema}.run_limits l where l.state = 'waits' and l.available_at > (select now from t))
  ) - (select now from t)) * 1000)::float8 as next_wake_ms
from (select) one left join (${RECLAIMED(d)}) x on true`,
);

interface Row extends ReclaimedRow {
  registered: boolean;
  woken: number;
  /** Groups in which runs became claimable: for nodes that have their programs. */
  ready: number[];
  called: HouseReport["called"] | null;
  held: boolean;
  mode: ModeState | null;
  overdue: boolean;
  misfits: boolean;
  next_wake_ms: number | null;
}

export async function housekeep(db: Database, round: HouseRound): Promise<HouseReport> {
  const { incarnation, limit, reclaim, presenceGraceMs, alone = false } = round;
  // Repeated through an outage, it would come back as the first statement of all and take every claim: all leases are over
  // by then, and `reclaim` was said before. (20 s without a database: 18 runs taken from nodes that were alive.)
  const values = [incarnation, limit, reclaim, presenceGraceMs, alone];
  const rows = await db.run<Row>(keepHouse, values, { once: true });
  const { registered, woken, ready, called, held, mode, overdue, misfits, next_wake_ms } = rows[0]!;
  db.onWork(ready);
  const reclaimed = await settleReclaimed(db, rows, incarnation);
  return { registered, woken, reclaimed, called: called ?? [], held, mode, overdue, misfits, nextWakeMs: next_wake_ms };
}

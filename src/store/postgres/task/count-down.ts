// Counts the end of a task in the rows that wait for it: its parent's, and those of the tasks that need it. One piece of SQL
// for every statement that ends runs; a CHECK refuses an end of a task that was not counted.
//
// Locks: the rows that will be counted down are locked first, in the order of their ids, and waited for; the runs that end
// are taken after them and never waited for. A statement that waits holds only rows with smaller ids, so there is no deadlock.

import type { Database } from "../connection/database.js";
import type { Dialect } from "../connection/dialect.js";
import { oneOf } from "../connection/rowset.js";
import { announce, type MovedRow } from "../limit/admit-runs.js";

/**
 * CTEs `waiters` and `turn`, given the text of a query for the runs that may end. Refer to `${TURN}` where those are taken:
 * it makes the planner lock the waiters before. `before` is evaluated before the first of them is locked.
 */
export function takeTurn({ schema: s }: Dialect, ending: string, before = "true"): string {
  return `waiters as materialized (
  select distinct x.id from (${ending}) as e(run_id)
  cross join lateral (
    select r.parent_id as id from ${s}.runs r where r.id = e.run_id and r.counts and r.parent_id is not null
    union all
    select n.run_id from ${s}.run_needs n where n.need_id = e.run_id
  ) x
), turn as materialized (
  select r.id from ${s}.runs r where r.id = any(array(select id from waiters)) and ${before} order by r.id for no key update
)`;
}

export const TURN = "(select count(*) from turn) >= 0";

/** Those that `up` made ready, as a value: nodes are woken for them, and those with limits are admitted. */
export const READY =
  "(select jsonb_agg(jsonb_build_object('id', id, 'claim_group', claim_group, 'state', state)) from up where state in ('waiting', 'held'))";

export type Ready = readonly MovedRow[] | null;

export async function announceReady(db: Database, ready: Ready): Promise<void> {
  if (ready) await announce(db, ready);
}

/** True when this very statement counts the run down: a row is written once per statement, so it must not change otherwise. */
export const isWaiter = (runId: string) => oneOf(runId, "select id from waiters");

/**
 * CTEs `fed` and `up`, to follow `t` and one named `ended` with the columns run_id, parent_id, counted. Summed up per row:
 * joined without it, a row that two needs of one batch feed fell by one and was stuck. Judged on the row as it is now, by its
 * id alone. Those that become ready are one microsecond apart.
 */
export function countDown({ schema: s }: Dialect, only = "true"): string {
  const ready = "r.pending <= u.n and r.state in ('blocked', 'parked')";
  return `fed as materialized (
  select x.id, count(*)::int as n from ended e
  cross join lateral (
    select e.parent_id as id where e.parent_id is not null
    union all
    select n.run_id from ${s}.run_needs n where n.need_id = e.run_id
  ) x
  where e.counted and ${only}
  group by x.id
), up as (
  update ${s}.runs r
  set pending = greatest(r.pending - u.n, 0),
      state = case when ${ready} then 'waiting' else r.state end,
      available_at = case when ${ready} then t.now + (u.ord - 1) * interval '1 microsecond' else r.available_at end,
      wake_at = case when ${ready} then null else r.wake_at end
  from unnest(array(select id from fed order by id), array(select n from fed order by id)) with ordinality as u(id, n, ord), t
  where r.id = u.id
  returning r.id, r.claim_group, r.state
)`;
}

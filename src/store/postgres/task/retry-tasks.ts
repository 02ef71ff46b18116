// Retries the tasks of a failed run that did not succeed; the run itself is retried after them (retry-runs.ts).
// When only this was done, its tasks continue and its row counts them: the same call repeated finishes the retry.

import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { IDS } from "../connection/rowset.js";
import { ENDED } from "../run/ended-states.js";
import { announceReady, type Ready } from "./count-down.js";
import { isTask, taskTree } from "./task-tree.js";

/**
 * Everything is locked in the order of the ids and judged as it was locked. Opened are tasks that failed or were cancelled, and
 * skipped ones behind them. What each waits for is counted again: all whose ends matter are locked here. Messages about their
 * failures are removed, or the next ones would not be sent.
 */
export const retryTasks = statement("retry_tasks", "Retries the tasks of failed runs that did not succeed.", (d) => {
  const { schema: s, now } = d;
  return `
with recursive roots as materialized (
  select r.id from ${IDS.from(1).as("w")}
  cross join lateral (
    select id from ${s}.runs r
    where r.id = w.id and r.state in ('failed', 'dead', 'quarantined') and not ${isTask(d, "r")} limit 1
  ) r
), ${taskTree(d, "select id from roots")}
, l as materialized (
  select r.id, r.state, r.seq, r.base_seq, r.claim_group from ${s}.runs r
  where r.id = any(array(select id from tree)) order by r.id for no key update
), edges as materialized (
  select n.need_id, n.run_id from l cross join lateral (
    select need_id, run_id from ${s}.run_needs n where n.need_id = l.id offset 0
  ) n
), opened(id) as (
  select l.id from l where l.state in ('failed', 'dead', 'quarantined', 'cancelled') and l.id not in (select id from roots)
  union
  select l.id from opened o join edges e on e.need_id = o.id join l on l.id = e.run_id where l.state = 'skipped'
), live as materialized (
  select l.id from l where l.state not in ${ENDED} union select id from opened
), waits as materialized (
  select x.id, count(*)::int as n, bool_or(x.need) as need from (
    select e.run_id as id, true as need from edges e where e.need_id in (select id from live)
    union all
    select tree.parent, false from tree where tree.parent is not null and tree.id in (select id from live)
  ) x group by x.id
), t as materialized (select ${now} as now
), o as (
  update ${s}.runs r
  set state = case when u.need then 'blocked' else 'waiting' end, pending = u.n, counts = true,
      generation = r.generation + 1, seq = r.seq + 1, failures = 0, crashes = 0, ended_at = null, archived_at = null,
      available_at = t.now + (u.ord - 1) * interval '1 microsecond'
  from (
    select o.id, coalesce(w.n, 0) as n, coalesce(w.need, false) as need, row_number() over (order by o.id) as ord
    from opened o left join waits w on w.id = o.id
  ) u, t
  where r.id = u.id
  returning r.id, r.seq, r.claim_group, r.state
), counted as (
  update ${s}.runs r set pending = coalesce((select n from waits w where w.id = r.id), 0)
  where r.id in (select id from roots)
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, key, at)
  select o.id, o.seq, 0, 'retried', $2::text, $3::text, t.now from o, t
), forgotten as (
  delete from ${s}.inbox i using tree
  where tree.id in (select id from opened)
    and ((i.run_id = tree.id and i.key = 'cancel') or (i.run_id = tree.parent and i.key = 'child:' || tree.id))
)
select (select jsonb_agg(jsonb_build_object('id', id, 'claim_group', claim_group, 'state', state)) from o where state in ('waiting', 'held')) as ready`;
});

export async function reopen(db: Database, runIds: readonly string[], by: string, callId: string): Promise<void> {
  const [row] = await db.run<{ ready: Ready }>(retryTasks, [...IDS.arrays(runIds), by, callId]);
  await announceReady(db, row!.ready);
}

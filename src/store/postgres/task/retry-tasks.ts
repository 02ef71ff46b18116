// Retries the tasks of an ended run: those that did not succeed, or those that are named, and what needs them. The run itself
// is retried after them (retry-runs.ts). When only this was done, its tasks continue and its row counts them: the same call
// repeated finishes the retry.

import { RETRYABLE_STATES } from "../../../kernel/run/run-state.js";
import type { RetryCall } from "../../contract/run/retry.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { IDS } from "../connection/rowset.js";
import { ENDED } from "../run/ended-states.js";
import { announceReady, type Ready } from "./count-down.js";
import { isTask, taskTree } from "./task-tree.js";

const TROUBLED = `(${RETRYABLE_STATES.map((state) => `'${state}'`).join(", ")})`;
const TRIED_AGAIN = `(${[...RETRYABLE_STATES, "cancelled"].map((state) => `'${state}'`).join(", ")})`;

/**
 * Which tasks are opened, as CTEs after `tree`. `begun`: its needs must stay ended, or it has ended while its own tasks
 * work; `above` are all tasks that it needs. `seeds` continue where they were. `behind` saw their ends, so it begins again, and
 * so does a completed task. A fan-out that begins again starts new items: its old ones stay as they are.
 */
function opened({ schema: s }: Dialect): string {
  const again = `(select true from ${s}.journal j where j.run_id = l.id and j.seq > l.base_seq and j.key = $3::text and j.epoch = 0 limit 1)`;
  const behindOf = (
    from: string,
  ) => `select l.id from ${from} o join edges e on e.need_id = o.id join l on l.id = e.run_id
  where (l.state in ${ENDED} or l.state = 'quarantined') and ($5::bool or l.state = 'skipped')`;
  return `edges as materialized (
  select n.need_id, n.run_id from l cross join lateral (
    select need_id, run_id from ${s}.run_needs n where n.need_id = l.id offset 0
  ) n
), alive as materialized (select id, parent from l where state not in ${ENDED}
), begun as materialized (
  select e.run_id as id from edges e where e.run_id in (select id from alive) group by e.run_id
  having not bool_or(e.need_id in (select id from alive)) and not ($5::bool and bool_or(e.run_id in (select id from l where state = 'quarantined')))
  union
  select l.id from l where l.state in ${ENDED} and l.id in (select parent from alive) and l.id not in (select id from roots)
), above(id) as (
  select e.need_id from begun b join edges e on e.run_id = b.id
  union
  select e.need_id from above a join edges e on e.run_id = a.id
), seeds as materialized (
  select l.id from l
  where l.id not in (select id from roots) and l.id not in (select id from above) and ${again} is null and case
    when $4::uuid[] is null then l.state in ${TRIED_AGAIN}
    else l.id = any($4::uuid[]) and (l.state in ${ENDED} or l.state = 'quarantined')
      or l.parent = any($4::uuid[]) and l.state in ${TRIED_AGAIN} end
), behind(id) as (
  ${behindOf("seeds")}
  union
  ${behindOf("behind")}
), fresh as materialized (
  select id from behind union select l.id from l where l.state = 'completed' and l.id in (select id from seeds)
), opened as materialized (
  select l.id, l.base_seq, l.id in (select id from fresh) as fresh from l
  where l.id in (select id from seeds union select id from fresh) and (l.parent is null or l.parent not in (select id from fresh))
)`;
}

/**
 * Everything is locked in the order of the ids and judged as it was locked. What each opened task waits for is counted again, and
 * what a blocked one behind it waits for: all whose ends matter are locked here. Messages about their failures are removed, or the
 * next ones would not be sent.
 */
export const retryTasks = statement("retry_tasks", "Retries tasks of ended runs, and what needs them.", (d) => {
  const { schema: s, now } = d;
  return `
with recursive roots as materialized (
  select distinct r.id from ${IDS.from(1).as("w")}
  cross join lateral (
    select id from ${s}.runs r
    where r.id = w.id and (r.state in ${TROUBLED} or r.state = 'completed' and $4::uuid[] is not null)
      and not ${isTask(d, "r")} limit 1
  ) r
), ${taskTree(d, "select id from roots")}
, locked as materialized (
  select r.id, r.state, r.seq, r.base_seq from ${s}.runs r
  where r.id = any(array(select id from tree)) order by r.id for no key update
), l as materialized (select k.id, k.state, k.seq, k.base_seq, tree.parent from locked k join tree on tree.id = k.id
), ${opened(d)}
, live as materialized (
  select id from alive union select id from opened
), waits as materialized (
  select x.id, count(*)::int as n, bool_or(x.need) as need from (
    select e.run_id as id, true as need from edges e where e.need_id in (select id from live)
    union all
    select l.parent, false from l where l.parent is not null and l.id in (select id from live)
  ) x group by x.id
), t as materialized (select ${now} as now
), o as (
  update ${s}.runs r
  set state = case when u.need then 'blocked' else 'waiting' end, pending = u.n, counts = true,
      generation = r.generation + 1, seq = r.seq + 1, base_seq = case when u.fresh then r.seq else r.base_seq end,
      failures = 0, crashes = 0, ended_at = null, archived_at = null,
      available_at = t.now + (u.ord - 1) * interval '1 microsecond'
  from (
    select o.id, o.fresh, o.base_seq, coalesce(w.n, 0) as n, coalesce(w.need, false) as need,
      row_number() over (order by o.id) as ord
    from opened o left join waits w on w.id = o.id
  ) u, t
  where r.id = u.id
  returning r.id, r.seq, r.claim_group, r.state, u.fresh, u.base_seq as old_base
), counted as (
  update ${s}.runs r set pending = coalesce((select n from waits w where w.id = r.id), 0)
  where r.id = any(array(
    select id from roots
    union
    select e.run_id from edges e join alive a on a.id = e.run_id where e.need_id in (select id from opened)
      and e.run_id not in (select id from begun) and e.run_id not in (select id from opened)))
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, key, codec, data, at)
  select o.id, o.seq, 0, case when o.fresh then 'start' else 'retried' end, $2::text, $3::text, j.codec, j.data, t.now
  from o cross join t
  left join lateral (
    select codec, data from ${s}.journal j where o.fresh and j.run_id = o.id and j.seq = o.old_base + 1 limit 1
  ) j on true
), forgotten as (
  delete from ${s}.inbox i using l
  where l.id in (select id from opened)
    and ((i.run_id = l.id and i.key = 'cancel') or (i.run_id = l.parent and i.key = 'child:' || l.id))
)
select (select jsonb_agg(jsonb_build_object('id', id, 'claim_group', claim_group, 'state', state)) from o where state in ('waiting', 'held')) as ready`;
});

export async function reopen(db: Database, runIds: readonly string[], options: RetryCall): Promise<void> {
  const { by, callId, tasks, after = false } = options;
  const values = [...IDS.arrays(runIds), by, callId, tasks ?? null, tasks === undefined || after];
  const [row] = await db.run<{ ready: Ready }>(retryTasks, values);
  await announceReady(db, row!.ready);
}

// Tasks: which tasks need which, what a pause does to a running run, and how a wrong count is found.

import type { Dialect } from "../connection/dialect.js";
import { ENDED } from "../run/ended-states.js";

/**
 * A run's `pending` is the number of tasks that it waits for. The commit that ends tasks subtracts them, on the locked row.
 * The number is never computed from the needs, because two tasks that end at the same moment do not see each other.
 *
 * answer_pause: other processes cannot pause a running run; they mark it, and it becomes `paused` when its claim is released, in
 * whatever way. Its name puts it before follow_limits.
 *
 * reconcile_tasks locks first and counts in separate statements: the statement that ends a task holds the rows that it counts down.
 */
export const tasks = ({ schema: s }: Dialect) => `
create table ${s}.run_needs (
  need_id  uuid not null,
  run_id   uuid not null,
  primary key (need_id, run_id)
);
-- A claim on a task includes the results of its needs.
create index run_needs_run on ${s}.run_needs (run_id, need_id);

create function ${s}.answer_pause() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
  if new.state in ('waiting', 'held', 'parked') then
    new.state := 'paused';
    new.wake_at := null;
  end if;
  new.pausing := false;
  return new;
end $$;

create trigger answer_pause before update on ${s}.runs
  for each row when (old.pausing and old.state is distinct from new.state) execute function ${s}.answer_pause();

create function ${s}.reconcile_tasks(of_env text, of_stack text) returns table (id uuid, claim_group int, state text, repaired boolean) language plpgsql
  -- Its parameters may be null: planned once for all values it read every task (2 s instead of 60 ms with 100,000 runs).
  set search_path = pg_catalog set plan_cache_mode = auto as $$
#variable_conflict use_column
declare
  waiters uuid[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'tasks need read committed: a snapshot older than the locks counts wrong';
  end if;
  waiters := array(select r.id from ${s}.runs r where r.state not in ${ENDED} and (
    r.pending > 0 or r.state = 'blocked' or exists (
      select from ${s}.journal j where j.run_id = r.id and j.kind = 'task' and j.seq > r.base_seq))
    and exists (select from ${s}.claim_groups g where g.id = r.claim_group
      and (of_env is null or g.env = of_env) and (of_stack is null or g.stack in (of_stack, ''))));
  perform from ${s}.runs r where r.id = any(waiters) order by r.id for no key update;
  return query
  with open as materialized (
    select r.id,
      (select count(*)::int from ${s}.run_needs n join ${s}.runs d on d.id = n.need_id
       where n.run_id = r.id and d.state not in ${ENDED}) as needs,
      (select count(*)::int from ${s}.journal j join ${s}.runs c on c.id = j.key::uuid
       where j.run_id = r.id and j.kind = 'task' and j.seq > r.base_seq and c.state not in ${ENDED}) as tasks
    from ${s}.runs r where r.id = any(waiters) and r.state not in ${ENDED}
  )
  update ${s}.runs r set pending = o.needs + o.tasks,
    state = case when o.needs + o.tasks = 0 and r.state in ('blocked', 'parked') then 'waiting' else r.state end,
    wake_at = case when o.needs + o.tasks > 0 then r.wake_at end
  from open o where r.id = o.id
  returning r.id, r.claim_group, r.state,
    (select q.pending <> o.needs + o.tasks or q.state <> r.state from ${s}.runs q where q.id = r.id);
end $$;
`;

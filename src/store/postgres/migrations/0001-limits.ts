// Limits: the lines in which held runs wait, the places that are taken, and the one function that admits runs.

import { overflowReason } from "../../../kernel/run/overflow.js";
import type { Dialect } from "../connection/dialect.js";
import { oneOf } from "../connection/rowset.js";
import { isStuck, NO_RUNS, stuckParts } from "../connection/stuck-runs.js";
import { endNotices } from "../run/end-notices.js";
import { ENDED } from "../run/ended-states.js";

/** The class of our admission locks: the first half of PostgreSQL's two-part lock key. */
const ADMISSION_CLASS = 0x686f6c65;
/** Of one line, in one call. */
const MOST_OF_A_LINE = 1000;
/** Runs of one batch are up to a millisecond apart: without it, the last ones of a batch would be admitted a round later. */
export const DUE_SLACK = "interval '2 ms'";

/**
 * follow_limits creates and removes a place in a line in the transaction that moves the run, so that counting rows is
 * enough and no crash can leak a slot. Its name puts it before refuse_illegal_move.
 *
 * admit_runs locks first and counts in a statement of its own, which sees what the last holder of the lock has written
 * (lock and count in one statement let 6 run under a limit of 2). Locks of keys are taken in the order of their numbers. Rows
 * that another transaction has locked are never waited for: a run that is, or one of whose rows is, stops its line until the
 * next call, so that nothing passes it, and no other line waits for it. The first in a line that must wait stops the line,
 * too: judged one by one, a run under an older, smaller limit might never be its turn.
 * Both are planned without sequential scans: what they read is a few rows by key, whatever the statistics say.
 *
 * A run that finds no place and may not wait is skipped under the same lock, after the places were granted: counted anywhere
 * else, two nodes would both find the last place taken, or free. Only runs that were never claimed are skipped; a task of another run waits.
 */
export const limits = (d: Dialect) => {
  const { schema: s } = d;
  return `
-- One row per run and limit. Stages are passed in turn: later, waits (in the line of its key), granted; a rate is passed
-- once and for ever. The key begins with the env. In line, priority and available_at are the run's own; serial lines
-- know no priority.
create table ${s}.run_limits (
  run_id        uuid not null,
  stage         smallint not null,
  key           text collate "C" not null,
  kind          text not null,
  max           int not null,
  per_ms        float8,
  overflow      text,
  state         text not null,
  priority      int not null,
  available_at  timestamptz not null,
  primary key (run_id, stage),
  constraint limit_kind_known check (kind in ('serial', 'slots', 'rate')),
  constraint limit_state_known check (state in ('later', 'waits', 'granted', 'passed')),
  constraint limit_rate_has_time check ((kind = 'rate') = (per_ms is not null)),
  constraint limit_overflow_known check (overflow is null or (kind = 'slots' and overflow in ('drop', 'shed-oldest')))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
create index run_limits_line on ${s}.run_limits (key, priority, available_at, run_id) where state = 'waits';
create index run_limits_due on ${s}.run_limits (available_at) where state = 'waits';
create index run_limits_granted on ${s}.run_limits (key) where state = 'granted';
create index run_limits_overflow on ${s}.run_limits (key) where state = 'waits' and overflow is not null;

-- When the next run of a rate may start. A time that is past means the same as no row.
create table ${s}.limit_rates (
  key      text collate "C" primary key,
  next_at  timestamptz not null
) with (fillfactor = 70);

create table ${s}.paused_queues (
  env    text not null,
  queue  text not null,
  at     timestamptz not null,
  by     text not null,
  primary key (env, queue)
);

create function ${s}.follow_limits() returns trigger language plpgsql
  set search_path = pg_catalog set enable_seqscan = off as $$
declare
  -- A quarantined run has not ended; but it does not block its key for as long as no node has code that fits.
  ends boolean := new.state in ${ENDED} or new.state = 'quarantined';
  backs_off boolean := new.failures > old.failures;
  next_stage smallint;
begin
  if ends or backs_off or new.state in ('paused', 'blocked') or new.state = 'parked' and new.pending = 0 then
    update ${s}.run_limits l set state = 'later'
    where l.run_id = new.id and (l.state = 'waits' or (l.state = 'granted' and (ends or l.kind = 'slots')));
  end if;
  if new.state = 'waiting' then
    select l.stage into next_stage from ${s}.run_limits l
    where l.run_id = new.id and l.state = 'later' order by l.stage limit 1;
    if found then
      update ${s}.run_limits l
      set state = 'waits', priority = case l.kind when 'serial' then 0 else new.priority end, available_at = new.available_at
      where l.run_id = new.id and l.stage = next_stage;
      new.state := 'held';
    end if;
  end if;
  return new;
end $$;

create trigger follow_limits before update on ${s}.runs
  for each row when (old.limited and old.state is distinct from new.state) execute function ${s}.follow_limits();

create function ${s}.admit_runs(keys text[], at timestamptz, ahead interval)
  returns table (run_id uuid, claim_group int, state text, start_at timestamptz, overflow text, told uuid) language plpgsql
  set search_path = pg_catalog set enable_seqscan = off as $$
#variable_conflict use_column
declare
  lock_number int;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'limits need read committed: a snapshot older than the lock counts wrong';
  end if;
  for lock_number in select distinct hashtext('${s.replaceAll('"', "")}' || k) from unnest(keys) k order by 1 loop
    perform pg_advisory_xact_lock(${ADMISSION_CLASS}, lock_number);
  end loop;
  return query
  with head as materialized (
    select k.key, x.kind, x.max, x.per_ms,
      (select count(*) from ${s}.run_limits g where g.key = k.key and g.state = 'granted') as taken,
      greatest(at, (select r.next_at from ${s}.limit_rates r where r.key = k.key)) as next_at
    from unnest(keys) as k(key)
    cross join lateral (
      select l.kind, l.max, l.per_ms from ${s}.run_limits l
      where l.key = k.key and l.state = 'waits' and l.available_at <= at + ${DUE_SLACK}
      order by l.priority, l.available_at, l.run_id limit 1
    ) x
  ), room as materialized (
    select key, taken, next_at, least(${MOST_OF_A_LINE}, greatest(0, case kind when 'rate'
      then floor(extract(epoch from at + ahead - next_at) * 1000 * max / per_ms) + 1 else max - taken end))::int as places
    from head
  ), line as materialized (
    select room.key, room.taken, room.next_at, x.*
    from room cross join lateral (
      select l.run_id, l.stage, l.kind, l.max, l.per_ms / l.max * interval '1 millisecond' as step,
        row_number() over (order by l.priority, l.available_at, l.run_id) as n
      from ${s}.run_limits l
      cross join lateral (select from ${s}.runs r where r.id = l.run_id and r.state is not distinct from 'held' limit 1) r
      where l.key = room.key and l.state = 'waits' and l.available_at <= at + ${DUE_SLACK}
      order by l.priority, l.available_at, l.run_id
      limit room.places
    ) x
  ), timed as (
    select line.*, case kind when 'rate' then next_at
      + coalesce(sum(step) over (partition by key order by n rows between unbounded preceding and 1 preceding), interval '0') end as start
    from line
  ), judged as materialized (
    select timed.*, bool_and(case kind when 'rate' then start <= at + ahead else taken + n <= max end)
      over (partition by key order by n) as goes
    from timed
  ), locked as materialized (
    select r.id from ${s}.runs r
    where r.id = any(array(select j.run_id from judged j where goes)) and r.state is not distinct from 'held'
    order by r.id
    for no key update skip locked
  ), free_rates as materialized (
    select r.key from ${s}.limit_rates r where r.key = any(array(select j.key from judged j where goes and kind = 'rate'))
    for no key update skip locked
  ), ${stuckParts(d, "select l.id from locked l", NO_RUNS)}, ok as materialized (
    select * from (
      select j.*, bool_and(${oneOf("j.run_id", "select id from locked")} and not ${isStuck("j.run_id")}
          and (kind <> 'rate' or ${oneOf("j.key", "select key from free_rates")}
            or not exists (select from ${s}.limit_rates r where r.key = j.key)))
        over (partition by j.key order by j.n) as free
      from judged j where goes
    ) j where free
  ), charged as (
    insert into ${s}.limit_rates as r (key, next_at) select key, max(start + step) from ok where kind = 'rate' group by 1
    on conflict (key) do update set next_at = excluded.next_at
  ), granted as (
    update ${s}.run_limits l set state = case l.kind when 'rate' then 'passed' else 'granted' end
    from unnest(array(select ok.run_id from ok), array(select ok.stage from ok)) as o(run_id, stage)
    where l.run_id = o.run_id and l.stage = o.stage
  )
  update ${s}.runs r set state = 'waiting', available_at = greatest(r.available_at, o.start)
  from unnest(array(select ok.run_id from ok), array(select ok.start from ok)) as o(id, start)
  where r.id = o.id
  returning r.id, r.claim_group, r.state, r.available_at, null::text, null::uuid;
  if not exists (
    select from unnest(keys) as k(key) cross join lateral (
      select from ${s}.run_limits l where l.key = k.key and l.state = 'waits' and l.overflow is not null limit 1
    ) l
  ) then
    return;
  end if;
  return query
  with beyond as materialized (
    select x.run_id, x.overflow from unnest(keys) as k(key)
    cross join lateral (
      select count(*) as taken from ${s}.run_limits g where g.key = k.key and g.state = 'granted' offset 0
    ) c
    cross join lateral (
      select l.run_id, l.overflow, l.max,
        row_number() over (partition by l.overflow order by l.available_at desc, l.run_id desc) as newest
      from ${s}.run_limits l
      cross join lateral (select from ${s}.runs r where r.id = l.run_id and r.state = 'held' and r.epoch = 0 and not r.counts limit 1) r
      where l.key = k.key and l.state = 'waits' and l.overflow is not null and l.available_at <= at + ${DUE_SLACK}
    ) x
    where c.taken >= x.max and (x.overflow = 'drop' or x.newest > x.max)
  ), locked as materialized (
    select r.id from ${s}.runs r
    where r.id = any(array(select b.run_id from beyond b)) and r.state = 'held' and r.epoch = 0 and not r.counts
    order by r.id
    for no key update skip locked
  ), ${stuckParts(d, "select l.id from locked l", "select l.id from locked l")}, skipped as (
    update ${s}.runs r set state = 'skipped', seq = r.seq + 1, ended_at = at
    where r.id = any(array(select l.id from locked l where not ${isStuck("l.id")}))
    returning r.id as run_id, r.claim_group, r.seq, r.parent_id, r.state
  ), written as (
    insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
    select k.run_id, k.seq, 0, 'skipped', '', 'json',
      case (select b.overflow from beyond b where b.run_id = k.run_id limit 1)
        when 'drop' then '${overflowReason("drop")}' else '${overflowReason("shed-oldest")}' end, at
    from skipped k
  ), ended as (select k.run_id, k.parent_id, k.state, false as counted from skipped k
  ), ${endNotices(d)}
  select k.run_id, k.claim_group, k.state, at, (select b.overflow from beyond b where b.run_id = k.run_id limit 1),
    (select o.run_id from notified o where o.run_id = k.parent_id limit 1)
  from skipped k;
end $$;
`;
};

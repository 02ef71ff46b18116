-- Every statement of the PostgreSQL store, exactly as it runs on the schema "holdfast"; only the layout is made for reading.
-- Written by `npm run snapshot`, compared by `npm run check`. After each name: the file that defines it.
-- A name that occurs several times is a query whose text depends on what is asked for: one sample for each form.
-- Not listed: migrations (schema.snapshot.txt), and what sets up and ends sessions and transactions (connection/).

-- acquire_lease · lease/leases.ts
-- Acquires a lease if it is new, finished or expired.
with before as materialized (select * from "holdfast".leases where env = $1 and key = $2 for no key update),
t as materialized (select clock_timestamp() as now),
taken as (
  insert into "holdfast".leases as l (env, key, state, owner, epoch, token, attempt, lease_until, acquired_at)
  select $1, $2, 'claimed', $3, (select last_value from "holdfast".lease_floor) + 1, $4::uuid, 1,
    t.now + ($5::float8) * interval '1 millisecond', t.now
  from t
  where (select count(*) from before) >= 0
  on conflict (env, key) do update set state = 'claimed',
    owner = case when l.token is not distinct from excluded.token then l.owner else excluded.owner end,
    epoch = l.epoch + case when l.token is not distinct from excluded.token then 0 else 1 end,
    token = excluded.token, finished_token = null,
    attempt = case
      when l.token is not distinct from excluded.token then l.attempt
      when l.state = 'done' then 1
      else l.attempt + 1 end,
    lease_until = excluded.lease_until,
    acquired_at = case
      when l.token is not distinct from excluded.token then l.acquired_at
      else excluded.acquired_at end,
    finished_at = null, detail = null
  where l.state <> 'claimed' or l.lease_until <= excluded.acquired_at
  returning l.*
)
select taken.epoch, taken.attempt, before.owner as before_owner, before.state as before_state,
  before.token as before_token, before.epoch as before_epoch, before.attempt as before_attempt,
  ceil(extract(epoch from before.lease_until - t.now) * 1000)::float8 as left_ms
from t
left join taken on true
left join before on true;

-- admit_for_runs · limit/admit-runs.ts
-- Admits held runs from the lines in which these runs wait or had a place.
with t as materialized (select clock_timestamp() as now),
asked as materialized (
  select distinct l.key
  from unnest((select $1::uuid[])) as w (id)
  cross join lateral (select state from "holdfast".runs r where r.id = w.id limit 1) r
  cross join lateral (select key, state from "holdfast".run_limits l where l.run_id = w.id limit 100) l
  where l.state = 'waits' or r.state <> 'held'
)
select a.run_id, a.claim_group, a.state,
  ceil(extract(epoch from a.start_at - t.now) * 1000)::float8 as in_ms, a.overflow, a.told,
  case
    when a.overflow is not null then (
      select g.program
      from "holdfast".claim_groups g
      where g.id = a.claim_group
    ) end as program
from t
cross join lateral "holdfast".admit_runs(
  array (
    select a.key
    from asked a
    cross join lateral (
      select l.kind, l.max
      from "holdfast".run_limits l
      where l.key = a.key and l.state = 'waits' and l.available_at <= (select now from t) + interval '2 ms'
      order by l.priority, l.available_at, l.run_id
      limit 1
    ) head
    where case head.kind
      when 'rate' then coalesce(
        (
          select r.next_at
          from "holdfast".limit_rates r
          where r.key = a.key
          limit 1
        ) <= (select now from t) + interval '2 seconds',
          true
      )
      else (
        select count(*)
        from "holdfast".run_limits g
        where g.key = a.key and g.state = 'granted'
      ) < head.max end
        or exists (
          select
          from "holdfast".run_limits o
          where o.key = a.key and o.state = 'waits' and o.overflow is not null
        )
  ),
    t.now, interval '2 seconds'
) a;

-- admit_keys · limit/admit-runs.ts
-- Admits held runs from the lines of these limit keys.
with t as materialized (select clock_timestamp() as now),
asked as materialized (select key from unnest((select $1::text[])) as w (key))
select a.run_id, a.claim_group, a.state,
  ceil(extract(epoch from a.start_at - t.now) * 1000)::float8 as in_ms, a.overflow, a.told,
  case
    when a.overflow is not null then (
      select g.program
      from "holdfast".claim_groups g
      where g.id = a.claim_group
    ) end as program
from t
cross join lateral "holdfast".admit_runs(
  array (
    select a.key
    from asked a
    cross join lateral (
      select l.kind, l.max
      from "holdfast".run_limits l
      where l.key = a.key and l.state = 'waits' and l.available_at <= (select now from t) + interval '2 ms'
      order by l.priority, l.available_at, l.run_id
      limit 1
    ) head
    where case head.kind
      when 'rate' then coalesce(
        (
          select r.next_at
          from "holdfast".limit_rates r
          where r.key = a.key
          limit 1
        ) <= (select now from t) + interval '2 seconds',
          true
      )
      else (
        select count(*)
        from "holdfast".run_limits g
        where g.key = a.key and g.state = 'granted'
      ) < head.max end
        or exists (
          select
          from "holdfast".run_limits o
          where o.key = a.key and o.state = 'waits' and o.overflow is not null
        )
  ),
    t.now, interval '2 seconds'
) a;

-- announce_presence · node/attend.ts
-- Stores the number of a node's session lock in its row.
update "holdfast".nodes
set presence = $2, absent_since = null
where incarnation = (
  select incarnation
  from "holdfast".nodes
  where incarnation = $1
  for no key update skip locked
);

-- append_instances · machine/machine-sql.ts
-- Appends steps to instances, with their timers and effects.
with t as materialized (select clock_timestamp() as now),
a as materialized (
  select a.*
  from unnest(
    (select $1::uuid[]), (select $2::int[]), (select $3::uuid[]), (select $4::bigint[]), (select $5::int[]),
      (select $6::text[]), (select $7::text[]), (select $8::text[]), (select $9::text[]), (select $10::text[])
  ) with ordinality as a (key, claim_group, token, base, n, status, version, value, codec, data, ord)
  join "holdfast".instances i on i.key = a.key
  for no key update of i skip locked
),
ok as (
  update "holdfast".instances i
  set seq = a.base + a.n,
    status = a.status,
    version = a.version,
    value = a.value,
    codec = coalesce(a.codec, i.codec),
    data = coalesce(a.data, i.data),
    snapshot_seq = case when a.codec is null then i.snapshot_seq else a.base + a.n end,
    updated_at = t.now,
    ended_at = case when a.status <> 'active' then t.now end,
    problem = null
  from a, t
  where i.key = a.key
    and i.seq = a.base
    and i.status = 'active'
    and not (
      (
        a.ord in (
          select ord
          from (
            select f.ord
            from unnest(
              (select $48::int[]), (select $49::uuid[]), (select $50::bigint[])
            ) as f(ord, id, generation)
            where (
              select x.id
              from "holdfast".timers x
              where x.id = f.id and x.generation = f.generation
              limit 1
            ) is null
            union all
            select e.ord
            from unnest(
              (select $11::int[]), (select $12::int[]), (select $13::text[]), (select $14::text[]),
                (select $15::text[]), (select $16::text[]), (select $17::text[]), (select $18::text[])
            ) as e(ord, i, kind, name, key, codec, data, by)
            where e.key is not null
              and (
                select v.seq
                from "holdfast".instance_events v
                where v.instance = ($1::uuid[])[e.ord] and v.key = e.key
                limit 1
              ) is not null
          ) u
        )
      ) is not false
    )
  returning i.key, a.ord, i.seq, i.status <> 'active' as ends
),
cancelled as (
  delete from "holdfast".timers x using unnest(
    (select $51::int[]), (select $52::uuid[]), (select $53::bigint[])
  ) as c(ord, id, generation)
  where x.id = c.id
    and x.generation = coalesce(c.generation, x.generation)
    and ((($1::uuid[])[c.ord] in (select key from ok)) is not false)
),
over as (delete from "holdfast".timers x using ok where ok.ends and x.instance = ok.key and x.kind <> 'sent'),
events as (
  insert into "holdfast".instance_events (instance, seq, token, kind, name, key, codec, data, by, at)
  select ($1::uuid[])[e.ord], ($4::bigint[])[e.ord] + e.i, ($3::uuid[])[e.ord], e.kind, e.name, e.key,
    e.codec, e.data, e.by, t.now
  from unnest(
    (select $11::int[]), (select $12::int[]), (select $13::text[]), (select $14::text[]),
      (select $15::text[]), (select $16::text[]), (select $17::text[]), (select $18::text[])
  ) as e(ord, i, kind, name, key, codec, data, by),
    t
  where ((($1::uuid[])[e.ord] in (select key from ok)) is not false)
),
timers as (
  insert into "holdfast".timers (
    id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at
  )
  select x.id, ($1::uuid[])[x.ord], ($2::int[])[x.ord], x.generation, x.kind, x.name, x.codec, x.data,
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond',
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond'
  from unnest(
    (select $19::int[]), (select $20::uuid[]), (select $21::bigint[]), (select $22::text[]),
      (select $23::text[]), (select $24::text[]), (select $25::text[]), (select $26::float8[])
  ) with ordinality as x (ord, id, generation, kind, name, codec, data, delay_ms, position),
    t
  where ((($1::uuid[])[x.ord] in (select key from ok)) is not false)
  on conflict (id) do update set instance = excluded.instance, claim_group = excluded.claim_group,
    generation = excluded.generation, kind = excluded.kind, name = excluded.name, codec = excluded.codec,
    data = excluded.data, due_at = excluded.due_at, try_at = excluded.try_at, claimed_until = null,
    attempts = 0, state = 'pending', problem = null
),
sent as (
  insert into "holdfast".timers (
    id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at
  )
  select x.id, x.instance,
    coalesce(
      (select i.claim_group from "holdfast".instances i where i.key = x.instance limit 1), x.claim_group
    ),
    x.generation, 'sent', x.name, x.codec, x.data,
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond',
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond'
  from unnest(
    (select $27::int[]), (select $28::uuid[]), (select $29::bigint[]), (select $30::uuid[]),
      (select $31::int[]), (select $32::text[]), (select $33::text[]), (select $34::text[]),
      (select $35::float8[])
  ) with ordinality as x (ord, id, generation, instance, claim_group, name, codec, data, delay_ms, position),
    t
  where ((($1::uuid[])[x.ord] in (select key from ok)) is not false)
  on conflict (id) do update set instance = excluded.instance, claim_group = excluded.claim_group,
    generation = excluded.generation, kind = excluded.kind, name = excluded.name, codec = excluded.codec,
    data = excluded.data, due_at = excluded.due_at, try_at = excluded.try_at, claimed_until = null,
    attempts = 0, state = 'pending', problem = null
),
new as materialized (
  select *
  from unnest(
    (select $36::uuid[]), (select $37::int[]), (select $38::int[]), (select $39::float8[]),
      (select $40::int[]), (select $41::uuid[]), (select $42::text[]), (select $43::text[]),
      (select $44::text[]), (select $45::int[]), (select $46::text[]), (select $47::int[])
  ) as n(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, ord)
  where ((($1::uuid[])[n.ord] in (select key from ok)) is not false)
),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, 'waiting',
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, false,
    null, recovery
  from new, t
  on conflict do nothing
  returning id
),
j as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now
  from new, t
  where ((id in (select id from r)) is not false)
  on conflict do nothing
)
select ord::int, seq
from ok;

-- archive_runs · run/retain-runs.ts
-- Archives runs that ended a given time ago.
with found as materialized (
  select y.id
  from (
    select x.id, x.ended_at
    from "holdfast".claim_groups g
    cross join unnest(array[0, 1]) as part (n)
    cross join lateral (
      select r.id, r.ended_at
      from "holdfast".runs r
      where r.claim_group = g.id
        and (
          case
            when r.archived_at is not null then 2
            when r.state in ('failed', 'dead', 'quarantined') then 1
            else 0 end
        ) = part.n
        and r.ended_at <= (select clock_timestamp()) - ($2::float8) * interval '1 millisecond'
        and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
        and ($4::text[] is null or r.state = any ($4))
        and true
      order by r.ended_at, r.id
      limit (select $3::int)
    ) x
    where $7::uuid[] is null
      and g.env = $1
      and ($5::text is null or g.program = $5)
      and ($6::text is null or g.queue = $6)
    union all
    select r.id, r.ended_at
    from unnest($7::uuid[]) as named (id)
    cross join lateral (select * from "holdfast".runs r where r.id = named.id limit 1) r
    cross join lateral (select * from "holdfast".claim_groups g where g.id = r.claim_group limit 1) g
    where g.env = $1
      and ($5::text is null or g.program = $5)
      and ($6::text is null or g.queue = $6)
      and r.ended_at <= (select clock_timestamp()) - ($2::float8) * interval '1 millisecond'
      and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
      and ($4::text[] is null or r.state = any ($4))
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) in (0, 1)
      and true
  ) y
  order by y.ended_at, y.id
  limit $3
),
old as materialized (
  select r.id
  from "holdfast".runs r
  where r.id = any (array (select id from found))
    and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
  for no key update of r skip locked
),
archived as (
  update "holdfast".runs r
  set archived_at = clock_timestamp()
  where r.id = any (array (select id from old))
    and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and r.archived_at is null
  returning 1
)
select count(*)::int as removed
from archived;

-- begin_gathering · event/settle-debounced.ts
-- Stores the event of a gathering run that was inserted in a caller's transaction.
insert into "holdfast".debounces (env, subscription, subject, run_id, last_at, codec, data)
select g.env, $5::text, $6::text, r.id, r.created_at, j.codec, j.data
from "holdfast".runs r
cross join lateral (select env from "holdfast".claim_groups g where g.id = r.claim_group limit 1) g
cross join lateral (
  select codec, data
  from "holdfast".journal j
  where j.run_id = r.id and j.seq = r.base_seq + 1
  limit 1
) j
where r.id = $1 and r.epoch = $2 and r.token = $3::uuid and r.seq = $4
on conflict do nothing;

-- cancel_run · run/cancel-run.ts
-- Cancels a run, or asks its holder to.
with l as materialized (
  select id, state, pending, counts, pausing,
    epoch > 0
      and state <> 'quarantined'
      and (select cleans_up from "holdfast".claim_groups g where g.id = claim_group) is true as cleans_up
  from "holdfast".runs
  where id = $1
  for no key update
),
t as materialized (select clock_timestamp() as now),
cancelled as (
  update "holdfast".runs r
  set state = 'cancelled', seq = r.seq + 1, wake_at = null, ended_at = t.now, counts = false
  from l, t
  where r.id = l.id
    and l.state <> 'running'
    and l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and l.counts = false
    and not l.cleans_up
    and not (
      l.pending > 0
        and l.state <> 'blocked'
        and exists (
          select
          from "holdfast".journal j
          where j.run_id = l.id and j.kind = 'task' and j.seq > r.base_seq
        )
    )
  returning r.id as run_id, r.seq, r.parent_id, r.state, r.limited
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'cancelled', '', 'json', $3, t.now
  from cancelled, t
),
requested as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, codec, data, sender, at)
  select id, 'cancel', id, 'cancel', 'cancel', 'json', $3, $2, t.now
  from l, t
  where l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and l.counts = false
    and not exists (select from cancelled)
  on conflict do nothing
  returning run_id
),
ended as (select run_id, parent_id, state, false as counted from cancelled),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
)
select l.state, l.pending, l.counts, l.cleans_up and (l.pausing or l.state = 'paused') as paused,
  (select run_id from requested) as requested, (select run_id from notified) as notified,
  (select run_id from cancelled where limited) as left_line, exists (select from cancelled) as cancelled,
  null::jsonb as ready
from l;

-- cancel_task · run/cancel-run.ts
-- Cancels a task, or asks its holder to.
with waiters as materialized (
  select distinct x.id
  from (select $1::uuid) as e (run_id)
  cross join lateral (
    select r.parent_id as id
    from "holdfast".runs r
    where r.id = e.run_id and r.counts and r.parent_id is not null
    union all
    select n.run_id
    from "holdfast".run_needs n
    where n.need_id = e.run_id
  ) x
),
turn as materialized (
  select r.id
  from "holdfast".runs r
  where r.id = any (array (select id from waiters)) and true
  order by r.id
  for no key update
),
l as materialized (
  select id, state, pending, counts, pausing,
    epoch > 0
      and state <> 'quarantined'
      and (select cleans_up from "holdfast".claim_groups g where g.id = claim_group) is true as cleans_up
  from "holdfast".runs
  where id = $1 and (select count(*) from turn) >= 0
  for no key update skip locked
),
t as materialized (select clock_timestamp() as now),
cancelled as (
  update "holdfast".runs r
  set state = 'cancelled', seq = r.seq + 1, wake_at = null, ended_at = t.now, counts = false
  from l, t
  where r.id = l.id
    and l.state <> 'running'
    and l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and l.counts = true
    and not l.cleans_up
    and not (
      l.pending > 0
        and l.state <> 'blocked'
        and exists (
          select
          from "holdfast".journal j
          where j.run_id = l.id and j.kind = 'task' and j.seq > r.base_seq
        )
    )
  returning r.id as run_id, r.seq, r.parent_id, r.state, r.limited
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'cancelled', '', 'json', $3, t.now
  from cancelled, t
),
requested as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, codec, data, sender, at)
  select id, 'cancel', id, 'cancel', 'cancel', 'json', $3, $2, t.now
  from l, t
  where l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and l.counts = true
    and not exists (select from cancelled)
  on conflict do nothing
  returning run_id
),
ended as (select run_id, parent_id, state, true as counted from cancelled),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
),
fed as materialized (
  select x.id, count(*)::int as n
  from ended e
  cross join lateral (
    select e.parent_id as id
    where e.parent_id is not null
    union all
    select n.run_id
    from "holdfast".run_needs n
    where n.need_id = e.run_id
  ) x
  where e.counted and true
  group by x.id
),
up as (
  update "holdfast".runs r
  set pending = greatest(r.pending - u.n, 0),
    state = case when r.pending <= u.n and r.state in ('blocked', 'parked') then 'waiting' else r.state end,
    available_at = case
      when r.pending <= u.n
        and r.state in ('blocked', 'parked') then t.now + (u.ord - 1) * interval '1 microsecond'
      else r.available_at end,
    wake_at = case when r.pending <= u.n and r.state in ('blocked', 'parked') then null else r.wake_at end
  from unnest(
    array (select id from fed order by id), array (select n from fed order by id)
  ) with ordinality as u (id, n, ord),
    t
  where r.id = u.id
  returning r.id, r.claim_group, r.state
)
select l.state, l.pending, l.counts, l.cleans_up and (l.pausing or l.state = 'paused') as paused,
  (select run_id from requested) as requested, (select run_id from notified) as notified,
  (select run_id from cancelled where limited) as left_line, exists (select from cancelled) as cancelled,
  (
    select jsonb_agg(jsonb_build_object('id', id, 'claim_group', claim_group, 'state', state))
    from up
    where state in ('waiting', 'held')
  ) as ready
from l;

-- cancel_tasks · run/cancel-run.ts
-- Cancels all tasks of a run, and theirs.
with recursive tree(id, parent) as (
  select x.id, null::uuid
  from (select $1::uuid) as x (id)
  union all
  select j.key::uuid, tree.id
  from tree
  cross join lateral (select base_seq from "holdfast".runs r where r.id = tree.id limit 1) r
  cross join lateral (
    select key
    from "holdfast".journal j
    where j.run_id = tree.id and j.seq > r.base_seq and j.kind = 'task'
    offset 0
  ) j
),
seen as materialized (
  select r.id, r.seq
  from "holdfast".runs r
  where r.id = any (array (select id from tree))
),
l as materialized (
  select r.id, r.state, r.counts, r.seq
  from "holdfast".runs r
  where r.id = any (array (select id from tree))
  order by r.id
  for no key update
),
moved as materialized (
  select l.id
  from l
  join seen on seen.id = l.id
  where l.seq <> seen.seq and l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
),
t as materialized (select clock_timestamp() as now),
cancelled as (
  update "holdfast".runs r
  set state = 'cancelled', seq = r.seq + 1, wake_at = null, ended_at = t.now, counts = false
  from l, t
  where r.id = l.id
    and l.id <> $1
    and l.state <> 'running'
    and l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and l.id not in (select id from moved)
  returning r.id as run_id, r.seq, r.parent_id, r.state, r.limited, l.counts as counted
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'cancelled', '', 'json', $3, t.now
  from cancelled, t
),
requested as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, codec, data, sender, at)
  select id, 'cancel', id, 'cancel', 'cancel', 'json', $3, $2, t.now
  from l, t
  where (l.state = 'running' or l.id in (select id from moved)) and l.id <> $1
  on conflict do nothing
  returning run_id
),
ended as (select run_id, parent_id, state, counted from cancelled),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
),
fed as materialized (
  select x.id, count(*)::int as n
  from ended e
  cross join lateral (
    select e.parent_id as id
    where e.parent_id is not null
    union all
    select n.run_id
    from "holdfast".run_needs n
    where n.need_id = e.run_id
  ) x
  where e.counted and x.id not in (select run_id from cancelled)
  group by x.id
),
up as (
  update "holdfast".runs r
  set pending = greatest(r.pending - u.n, 0),
    state = case when r.pending <= u.n and r.state in ('blocked', 'parked') then 'waiting' else r.state end,
    available_at = case
      when r.pending <= u.n
        and r.state in ('blocked', 'parked') then t.now + (u.ord - 1) * interval '1 microsecond'
      else r.available_at end,
    wake_at = case when r.pending <= u.n and r.state in ('blocked', 'parked') then null else r.wake_at end
  from unnest(
    array (select id from fed order by id), array (select n from fed order by id)
  ) with ordinality as u (id, n, ord),
    t
  where r.id = u.id
  returning r.id, r.claim_group, r.state
)
select (
  select count(*)::int
  from l
  where (state = 'running' or id in (select id from moved)) and id <> $1
) as running,
  array (select run_id from requested) as requested, array (select run_id from notified) as notified,
  array (select run_id from cancelled where limited) as left_lines,
  (
    select jsonb_agg(jsonb_build_object('id', id, 'claim_group', claim_group, 'state', state))
    from up
    where state in ('waiting', 'held')
  ) as ready;

-- cancel_timeout · timeout/timeouts.ts
-- Cancels the timeout of an instance.
delete from "holdfast".timeouts o
where o.env = $1 and o.scope = $2 and o.instance = $3
returning o.instance;

-- change_mode · node/nodes.ts
-- Changes the mode of a node.
with n as (
  update "holdfast".nodes
  set mode = coalesce($2::text, mode),
    drain = case when $2::text is not null then null else coalesce($3::text, drain) end,
    overrides = (
      case when $4::bool then '{}' else overrides end - coalesce($5::text, '')
    ) || coalesce($6::jsonb, '{}')
  where incarnation = $1 and stopped_at is null
  returning env, identity, mode, overrides, drain
),
kept as (
  insert into "holdfast".kept_modes as k (env, identity, mode, overrides, at, by)
  select env, identity, mode, overrides, clock_timestamp(), $8::text
  from n
  where $7::bool
  on conflict (env, identity) do update set mode = excluded.mode, overrides = excluded.overrides,
    at = excluded.at, by = excluded.by
)
select mode, overrides, drain
from n;

-- claim_runs · claim/claim-runs.ts
-- Claims waiting runs of a node's groups, in order of priority and time.
with held as materialized (
  select id
  from "holdfast".runs
  where state = 'running' and owner = $1 and token = $2
),
paused as materialized (
  select c.id
  from "holdfast".paused_queues p
  cross join lateral (
    select id
    from "holdfast".claim_groups c
    where c.env = p.env and c.queue = p.queue
    offset 0
  ) c
),
picked as materialized (
  select x.id, x.suspect, x.priority, x.available_at
  from unnest($3::int[]) as g (id)
  cross join lateral (
    select r.id, r.priority, r.available_at,
      $6::int = 1 and (r.crashes >= greatest(1, least(2, r.crash_limit - 1))) as suspect
    from "holdfast".runs r
    where r.state = 'waiting'
      and r.claim_group = g.id
      and r.available_at <= (select clock_timestamp())
      and r.available_at > (
        select coalesce(clock_timestamp() - ($8::float8) * interval '1 millisecond', '-infinity')
      )
      and ($6::int is distinct from 0 or not (r.crashes >= greatest(1, least(2, r.crash_limit - 1))))
      and (r.misfits is null or not r.misfits && $7::text[])
    order by r.priority, r.available_at
    limit (select $4::int)
    for no key update skip locked
  ) x
  where not exists (select from held) and g.id <> all (array (select id from paused))
  order by x.priority, x.available_at, x.id
  limit (select $4::int)
),
claimed as (
  update "holdfast".runs r
  set state = 'running',
    epoch = r.epoch + 1,
    token = $2,
    owner = $1,
    crashes = r.crashes + 1,
    lease_until = clock_timestamp() + ($5::float8) * interval '1 millisecond'
  where r.id = any (
    array (select id from picked where suspect is not true) || array (
      select id
      from picked
      where suspect
      order by priority, available_at, id
      limit 1
    )
  )
  returning r.id, r.epoch, r.claim_group, r.priority, r.seq, r.base_seq, r.generation, r.inbox_seq,
    r.failures, r.crashes, r.crash_limit, r.parent_id, r.limited, r.counts, r.available_at
),
taken as (
  update "holdfast".deferred_runs f
  set taken_by = $1, taken_at = clock_timestamp(), pending = false
  where f.run_id = any (array (select id from claimed)) and f.pending
),
mine as (
  select *
  from claimed
  union all
  select r.id, r.epoch, r.claim_group, r.priority, r.seq, r.base_seq, r.generation, r.inbox_seq, r.failures,
    r.crashes, r.crash_limit, r.parent_id, r.limited, r.counts, r.available_at
  from "holdfast".runs r
  join held using (id)
)
select m.id, m.epoch, m.claim_group, m.priority, m.seq, m.base_seq, m.generation, m.inbox_seq, m.failures,
  m.crashes, (m.crashes - 1 >= greatest(1, least(2, m.crash_limit - 1))) as suspect, m.parent_id, m.limited,
  m.counts, j.codec, j.data, j.key,
  (select floor(extract(epoch from clock_timestamp()) * 1000)::float8) as claimed_at,
  mail.run_id is not null as has_messages,
  (select by from "holdfast".deferred_runs f where f.run_id = m.id) as deferred_by,
  case
    when m.counts then (
      select json_agg(
        json_build_array(
          e.id, e.starts, r.state, j.seq, j.epoch, j.kind, j.name, j.key, j.codec,
            case when octet_length(j.data) <= 2000 then j.data end,
            floor(extract(epoch from j.at) * 1000)::float8
        )
      )
      from (
        select m.parent_id as id, true as starts
        union all (select n.need_id, false from "holdfast".run_needs n where n.run_id = m.id limit 9)
      ) e
      cross join lateral (select state, seq, base_seq from "holdfast".runs r where r.id = e.id limit 1) r
      cross join lateral (
        select *
        from "holdfast".journal j
        where j.run_id = e.id and j.seq = case
          when e.starts then r.base_seq + 1
          when r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead') then r.seq end
        limit 1
      ) j
    ) end as given,
  case
    when m.seq - m.base_seq between 2 and 16 then (
      select json_agg(
        json_build_array(
          j.seq, j.epoch, j.kind, j.name, j.key, j.codec,
            case when octet_length(j.data) <= 2000 then j.data end,
            floor(extract(epoch from j.at) * 1000)::float8
        )
        order by j.seq
      )
      from "holdfast".journal j
      where j.run_id = m.id and j.seq > m.base_seq and j.seq <= m.seq
    ) end as log
from mine m
left join lateral (
  select codec, data, key
  from "holdfast".journal j
  where j.run_id = m.id and j.seq = m.base_seq + 1
  limit 1
) j on true
left join lateral (
  select run_id
  from "holdfast".inbox i
  where i.run_id = m.id and i.taken_seq is null
  limit 1
) mail on true
order by m.priority, m.available_at, m.id;

-- claim_timeouts · timeout/claim-timeouts.ts
-- Claims timeouts that are due.
with t as materialized (select clock_timestamp() as now),
free as materialized (
  select a.*
  from unnest(
    (select $1::uuid[]), (select $2::uuid[]), (select $3::text[]), (select $4::float8[])
  ) as a(generation, token, node, claim_ms)
  cross join lateral (
    select o.generation
    from "holdfast".timeouts o
    where o.generation = a.generation and o.due_at <= (select now from t)
    limit 1
    for update skip locked
  ) o
)
update "holdfast".timeouts o
set token = f.token,
  claimed_by = f.node,
  claimed_until = t.now + (f.claim_ms) * interval '1 millisecond',
  due_at = t.now + (f.claim_ms) * interval '1 millisecond',
  attempts = o.attempts + 1,
  released_token = null
from free f, t
where o.generation = f.generation and (o.due_at <= t.now) is true
returning o.env, o.scope, o.instance, o.generation, o.state, o.sequence::float8,
  floor(extract(epoch from o.deadline) * 1000)::float8 as deadline,
  floor(extract(epoch from o.created_at) * 1000)::float8 as "createdAt", o.attempts,
  o.claimed_by as "claimedBy", floor(extract(epoch from o.claimed_until) * 1000)::float8 as "claimedUntil",
  o.due_at is null as dead, o.problem;

-- claim_timers · machine/timers.ts
-- Claims timers that are due, and says when to look again.
with t as materialized (select clock_timestamp() as now),
picked as materialized (
  select x.place
  from unnest((select $1::int[])) as g (id)
  cross join lateral (
    select x.ctid as place
    from "holdfast".timers x
    where x.state = 'pending'
      and x.claim_group = g.id
      and x.try_at <= (select now from t)
      and (
        x.claimed_until is null or x.claimed_until <= (select now from t) or x.claimed_by = any ($6::uuid[])
      )
    order by x.try_at
    limit (select $2::int)
    for no key update skip locked
  ) x
),
took as (
  update "holdfast".timers x
  set attempts = x.attempts + 1,
    claimed_until = (select now from t) + ($3::float8) * interval '1 millisecond',
    claimed_by = $5::uuid,
    state = case when x.attempts >= $4 then 'dead' else 'pending' end,
    problem = case
      when x.attempts >= $4 then coalesce(
        x.problem, 'The node that claimed this timer died before firing it.'
      )
      else x.problem end
  where x.ctid = any (array (select place from picked))
  returning x.*
)
select floor(extract(epoch from t.now) * 1000)::float8 as now,
  case
    when (select count(*) from picked) >= $2 then 0
    else (
      select ceil(extract(epoch from min(n.at) - (select now from t)) * 1000)::float8
      from unnest((select $1::int[])) as g (id)
      cross join lateral (
        (
          select n.try_at as at
          from "holdfast".timers n
          where n.state = 'pending' and n.claim_group = g.id and n.try_at > (select now from t)
          order by n.try_at
          limit 1
        )
        union all (
          select n.claimed_until
          from "holdfast".timers n
          where n.state = 'pending'
            and n.claim_group = g.id
            and n.try_at <= (select now from t)
            and n.claimed_until > (select now from t)
          order by n.try_at
          limit (select $2::int)
        )
      ) n
    ) end as next_ms,
  x.*
from t
left join lateral (
  select x.id as timer_id, x.instance as "instanceKey", x.generation::float8, x.kind, x.name as timer_name,
    x.codec as timer_codec, x.data as timer_data,
    floor(extract(epoch from x.due_at) * 1000)::float8 as "dueAt",
    floor(extract(epoch from greatest(x.try_at, x.claimed_until)) * 1000)::float8 as "tryAt", x.attempts,
    x.state, x.problem as timer_problem, x.due_at as due, i.*
  from took x
  left join lateral (
    select i.key, i.id, g.env, g.stack, g.queue, g.program, i.version, i.status, i.seq::float8, i.value,
      i.redact, i.problem, floor(extract(epoch from i.created_at) * 1000)::float8 as "createdAt",
      floor(extract(epoch from i.updated_at) * 1000)::float8 as "updatedAt",
      floor(extract(epoch from i.ended_at) * 1000)::float8 as "endedAt", i.codec, i.data,
      i.snapshot_seq::float8 as "snapshotSeq"
    from "holdfast".instances i
    join "holdfast".claim_groups g on g.id = i.claim_group
    where i.key = x.instance
    limit 1
  ) i on true
) x on true
order by x.due, x.timer_id;

-- claims_from · node/nodes.ts
-- Stores from which groups a node claims.
update "holdfast".nodes
set claims = $2::int[]
where incarnation = $1 and claims <> $2::int[];

-- clean_audit · clean-retained.ts
-- Removes old rows of the audit.
with page as materialized (
  select a.id
  from "holdfast".oldest_audit($1, $3) a
  where a.at <= clock_timestamp() - ($2::float8) * interval '1 millisecond'
),
old as materialized (
  select a.id
  from "holdfast".audit a
  where a.id = any (array (select id from page))
  for update skip locked
),
gone as (delete from "holdfast".audit a where a.id = any (array (select id from old)) returning 1)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more;

-- clean_claims · clean-retained.ts
-- Removes old records of reclaimed claims.
with place as materialized (select c.past from "holdfast".cleanups c where c.env = $1 and c.part = 'claims'),
page as materialized (
  select k.run_id, k.epoch, k.at
  from place,
    "holdfast".reclaimed_after(place.past, clock_timestamp() - ($2::float8) * interval '1 millisecond', $3) k
),
old as materialized (
  select x.ctid
  from page p
  cross join lateral (
    select k.ctid
    from "holdfast".reclaimed_claims k
    where k.run_id = p.run_id
      and k.epoch = p.epoch
      and exists (select from "holdfast".reclaimed_claims l where l.run_id = p.run_id and l.epoch > p.epoch)
      and exists (
        select
        from "holdfast".runs r
        join "holdfast".claim_groups g on g.id = r.claim_group
        where r.id = p.run_id and g.env = $1
        offset 0
      )
    for update skip locked
  ) x
),
gone as (
  delete from "holdfast".reclaimed_claims k
  where k.ctid = any (array (select ctid from old))
  returning 1
),
moved as (
  update "holdfast".cleanups c
  set past = case when (select count(*) from page) < $3 then '-infinity' else (select max(at) from page) end
  where c.env = $1 and c.part = 'claims'
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more;

-- clean_debounces · clean-up.ts
-- Removes debounced events that no run will take.
with t as materialized (select clock_timestamp() as now),
place as materialized (
  select c.past, c.after
  from "holdfast".cleanups c
  where c.env = $1 and c.part = 'debounces'
),
page as materialized (
  select d.subscription, d.subject, json_build_array(d.subscription, d.subject)::text as key,
    coalesce(
      (
        select r.state in ('cancelled', 'skipped')
          and r.ended_at <= (select now from t) - ($2::float8) * interval '1 millisecond'
        from "holdfast".runs r
        where r.id = d.run_id
      ),
        d.last_at <= (select now from t) - ($2::float8) * interval '1 millisecond'
    ) as is_over
  from (select coalesce(nullif(place.after, ''), '["",""]')::json as after from place) p
  cross join lateral "holdfast".debounces_after($1, p.after ->> 0, p.after ->> 1, $3) d
),
old as materialized (
  select x.ctid, x.run_id
  from page p
  cross join lateral (
    select d.ctid, d.run_id
    from "holdfast".debounces d
    where p.is_over
      and d.env = $1
      and d.subscription = p.subscription
      and d.subject = p.subject
      and coalesce(
        (
          select r.state in ('cancelled', 'skipped')
            and r.ended_at <= (select now from t) - ($2::float8) * interval '1 millisecond'
          from "holdfast".runs r
          where r.id = d.run_id
        ),
          d.last_at <= (select now from t) - ($2::float8) * interval '1 millisecond'
      )
    for update skip locked
  ) x
),
gone as (
  delete from "holdfast".debounces d
  where d.ctid = any (array (select ctid from old)) and d.run_id = any (array (select run_id from old))
  returning 1
),
moved as (
  update "holdfast".cleanups c
  set after = case
    when (select count(*) from page) < $3 then ''
    else (select p.key from page p order by p.subscription desc, p.subject desc limit 1) end
  where c.env = $1 and c.part = 'debounces'
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more;

-- clean_generations · clean-up.ts
-- Removes journal entries and messages of earlier generations of runs that continued.
with t as materialized (select clock_timestamp() as now),
place as materialized (
  select c.past, c.after
  from "holdfast".cleanups c
  where c.env = $1 and c.part = 'generations'
),
page as materialized (
  select g.run_id, g.seq, g.name, g.at
  from place,
    "holdfast".generations_after(
      place.past, coalesce(nullif(place.after, ''), '00000000-0000-0000-0000-000000000000')::uuid,
        (select now from t) - ($2::float8) * interval '1 millisecond', 500
    ) g
),
starts as materialized (
  select p.run_id, max(p.seq) as seq, coalesce(max(p.seq) filter (where p.name <> 'recovery'), 0) as boundary
  from page p
  where exists (
    select
    from "holdfast".runs r
    join "holdfast".claim_groups g on g.id = r.claim_group
    where r.id = p.run_id and g.env = $1 and r.base_seq >= p.seq - 1
    offset 0
  )
  group by p.run_id
),
entries as materialized (
  select x.ctid
  from starts f
  cross join lateral (
    select j.ctid
    from "holdfast".journal j
    where j.run_id = f.run_id and j.seq < f.seq and (j.seq < f.boundary or j.kind not in ('start', 'retried'))
    order by j.seq
    limit $3
    for update skip locked
  ) x
  limit $3
),
messages as materialized (
  select x.ctid
  from starts f
  cross join lateral (
    select i.ctid
    from "holdfast".inbox i
    where i.run_id = f.run_id
      and i.taken_seq > 0
      and i.taken_seq < f.seq
      and (
        case i.kind
          when 'child' then i.name = 'completed'
          else right(i.key, 36) = i.message_id::text end
            or i.at <= (select now from t) - interval '3600000 milliseconds'
      )
    order by i.key
    limit $3
    for update skip locked
  ) x
  limit $3
),
gone as (delete from "holdfast".journal j where j.ctid = any (array (select ctid from entries)) returning 1),
read as (
  delete from "holdfast".inbox i
  where i.ctid = any (array (select ctid from messages)) and i.taken_seq > 0
  returning 1
),
full_batch as materialized (
  select greatest((select count(*) from entries), (select count(*) from messages)) >= $3 as is_full,
    (select count(*) from page) >= 500 as has_next
),
moved as (
  update "holdfast".cleanups c
  set (past, after) = (select p.at, p.run_id::text from page p order by p.at desc, p.run_id desc limit 1)
  where c.env = $1
    and c.part = 'generations'
    and exists (select from page)
    and not (select is_full from full_batch)
)
select ((select count(*) from gone) + (select count(*) from read))::int as removed,
  is_full or has_next as more
from full_batch;

-- clean_kept_values · clean-up.ts
-- Removes kept values that have expired.
with t as materialized (select clock_timestamp() as now),
old as materialized (
  select v.ctid
  from "holdfast".kept_values v
  where v.env = $1 and v.until <= (select now from t) - ($2::float8) * interval '1 millisecond'
  order by v.until
  limit $3
  for update skip locked
),
gone as (
  delete from "holdfast".kept_values v
  where v.ctid = any (array (select ctid from old))
    and v.until <= (select now from t) - ($2::float8) * interval '1 millisecond'
  returning 1
)
select (select count(*) from gone)::int as removed, (select count(*) from old) >= $3 as more;

-- clean_keys · clean-retained.ts
-- Removes keys whose time has passed.
with page as materialized (
  select k.hash
  from "holdfast".expired_keys($1, clock_timestamp() - ($2::float8) * interval '1 millisecond', $3) k
),
old as materialized (
  select k.hash
  from "holdfast".run_keys k
  where k.hash = any (array (select hash from page))
    and k.lifetime = 'timed'
    and k.expires_at <= clock_timestamp()
  for update skip locked
),
gone as (delete from "holdfast".run_keys k where k.hash = any (array (select hash from old)) returning 1)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more;

-- clean_leases · clean-up.ts
-- Removes finished leases and those that expired long ago.
with t as materialized (select clock_timestamp() as now),
place as materialized (
  select c.past, c.after
  from "holdfast".cleanups c
  where c.env = $1 and c.part = 'leases'
),
page as materialized (
  select l.key,
    case l.state
      when 'claimed' then l.lease_until
      else l.finished_at end <= (select now from t) - ($2::float8) * interval '1 millisecond' as is_old
  from place, "holdfast".leases_after($1, place.after, $3) l
),
old as materialized (
  select l.key, l.epoch
  from "holdfast".leases l
  where l.env = $1 and l.key = any (array (select key from page where is_old)) and case l.state
    when 'claimed' then l.lease_until
    else l.finished_at end <= (select now from t) - ($2::float8) * interval '1 millisecond'
  for update skip locked
),
turn as materialized (
  select count(pg_advisory_xact_lock(1752132710, hashtext('holdfast'))) as n
  from (select max(epoch) as epoch from old) x
  where x.epoch is not null
),
raised as materialized (
  select setval(
    '"holdfast".lease_floor',
      greatest((select last_value from "holdfast".lease_floor), (select max(epoch) from old))
  ) as floor
  from turn
  where turn.n > 0
),
gone as (
  delete from "holdfast".leases l
  where l.env = $1 and l.key = any (array (select key from old)) and (select count(floor) from raised) > 0
  returning 1
),
moved as (
  update "holdfast".cleanups c
  set after = case when (select count(*) from page) < $3 then '' else (select max(key) from page) end
  where c.env = $1 and c.part = 'leases'
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more;

-- clean_nodes · clean-up.ts
-- Removes the rows of nodes that stopped or fell silent long ago.
with t as materialized (select clock_timestamp() as now),
newest as materialized (select "holdfast".last_start($1, 1000) as started_at),
page as materialized (
  select n.incarnation
  from "holdfast".oldest_nodes($1, $3 + 1000) n
  where (
    n.stopped_at is not null
      or n.seen_at < (select now from t) - (
        greatest(n.lease_ms, 3 * coalesce(n.heartbeat_ms, 5000))
      ) * interval '1 millisecond'
      and n.seen_at <= (select now from t) - interval '600000 milliseconds'
  )
    and (
      coalesce(n.stopped_at, n.seen_at) <= (select now from t) - ($2::float8) * interval '1 millisecond'
        or n.started_at <= (select started_at from newest)
    )
    and not exists (
      select
      from "holdfast".runs r
      where r.state = 'running' and r.owner = n.incarnation
      offset 0
    )
  order by n.started_at
  limit $3
),
old as materialized (
  select n.incarnation
  from "holdfast".nodes n
  where n.incarnation = any (array (select incarnation from page))
    and (
      n.stopped_at is not null
        or n.seen_at < (select now from t) - (
          greatest(n.lease_ms, 3 * coalesce(n.heartbeat_ms, 5000))
        ) * interval '1 millisecond'
        and n.seen_at <= (select now from t) - interval '600000 milliseconds'
    )
    and (
      coalesce(n.stopped_at, n.seen_at) <= (select now from t) - ($2::float8) * interval '1 millisecond'
        or n.started_at <= (select started_at from newest)
    )
  for update skip locked
),
gone as (
  delete from "holdfast".nodes n
  where n.incarnation = any (array (select incarnation from old))
  returning 1
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more;

-- clean_rates · clean-up.ts
-- Removes rate limits whose next start has passed.
with t as materialized (select clock_timestamp() as now),
place as materialized (
  select c.past, c.after
  from "holdfast".cleanups c
  where c.env = $1 and c.part = 'rates'
),
page as materialized (
  select r.key, r.next_at <= (select now from t) - ($2::float8) * interval '1 millisecond' as is_past
  from place, "holdfast".rates_after($1, place.after, $3) r
),
past as materialized (
  select r.key
  from "holdfast".limit_rates r
  where r.key = any (array (select key from page where is_past))
    and r.next_at <= (select now from t) - ($2::float8) * interval '1 millisecond'
  for update skip locked
),
gone as (delete from "holdfast".limit_rates r where r.key = any (array (select key from past)) returning 1),
moved as (
  update "holdfast".cleanups c
  set after = case when (select count(*) from page) < $3 then '' else (select max(key) from page) end
  where c.env = $1 and c.part = 'rates'
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more;

-- clean_runs · clean-retained.ts
-- Removes runs that the store no longer keeps.
with ages as materialized (
  select (array[ 'completed', 'failed', 'cancelled', 'skipped', 'dead'])[x.place] as state,
    (array[0, 1, 0, 0, 1])[x.place] as part, clock_timestamp() - (x.ms) * interval '1 millisecond' as until
  from unnest((select $2::float8[])) with ordinality as x (ms, place)
  where x.ms is not null
),
ranges as materialized (
  select a.part, max(a.until) as until
  from (select part, until from ages union all select 2, until from ages) a
  group by a.part
),
found as materialized (
  select x.id
  from "holdfast".claim_groups g
  cross join ranges p
  cross join lateral (
    select r.id
    from "holdfast".runs r
    where r.claim_group = g.id
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = p.part
      and r.ended_at <= p.until
      and r.ended_at <= (select a.until from ages a where a.state = r.state)
      and not exists (select from "holdfast".runs o where o.id = r.parent_id offset 0)
    order by r.ended_at, r.id
    limit (select $3::int)
  ) x
  where g.env = $1
  limit $3
),
old as materialized (
  select r.id
  from "holdfast".runs r
  where r.id = any (array (select id from found))
    and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
  for no key update of r skip locked
),
gone as (
  delete from "holdfast".runs r
  where r.id = any (array (select id from old))
    and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
  returning r.id, r.key_hash
),
journal as (delete from "holdfast".journal j where j.run_id = any (array (select id from gone))),
taken as (delete from "holdfast".reclaimed_claims k where k.run_id = any (array (select id from gone))),
deferred as (delete from "holdfast".deferred_runs f where f.run_id = any (array (select id from gone))),
needs as (delete from "holdfast".run_needs n where n.need_id = any (array (select id from gone))),
misfits as (delete from "holdfast".misfit_runs m where m.run_id = any (array (select id from gone))),
attributes as (delete from "holdfast".run_attributes a where a.run_id = any (array (select id from gone))),
limits as (delete from "holdfast".run_limits l where l.run_id = any (array (select id from gone))),
tries as materialized (
  select p.env, p.program, p.opening, p.n
  from "holdfast".breaker_probes p
  where p.env = $1
    and p.at <= clock_timestamp() - (10000) * interval '1 millisecond'
    and (
      ((p.run_id in (select id from gone)) is not false)
        or not exists (select from "holdfast".runs r where r.id = p.run_id)
    )
  order by p.at, p.run_id
  limit $3
  for update skip locked
),
probes as (
  delete from "holdfast".breaker_probes p using tries x
  where (p.env, p.program, p.opening, p.n) = (x.env, x.program, x.opening, x.n)
),
inbox as (delete from "holdfast".inbox i where i.run_id = any (array (select id from gone))),
held as materialized (
  select k.hash
  from (select id, key_hash from gone where key_hash is not null order by key_hash) g
  cross join lateral (
    select k.hash
    from "holdfast".run_keys k
    where k.hash = g.key_hash
      and k.run_id = g.id
      and not (k.lifetime = 'timed' and k.expires_at > clock_timestamp())
    for update
  ) k
),
keys as (delete from "holdfast".run_keys k where k.hash = any (array (select hash from held)))
select (select count(*) from gone)::int as removed, (select count(*) from found) >= $3 as more
where set_config('synchronous_commit', 'off', true) = 'off';

-- commit_entry · claim/commit-entry.ts
-- Commits one entry to the journal of one run that stays claimed.
with free as materialized (select id from "holdfast".runs where id = $1::uuid for no key update skip locked),
ok as (
  update "holdfast".runs r
  set seq = r.seq + 1, crashes = 0, ended_at = null
  where r.id = $1::uuid
    and r.epoch = $2::bigint
    and r.token = $3::uuid
    and r.seq = $4::bigint
    and exists (select from free)
  returning r.seq, r.inbox_seq
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select $1::uuid, ok.seq, $2::bigint, $3::uuid, $5::text, $6::text, $7::text, $8::text, $9::text,
    clock_timestamp()
  from ok
)
select seq, inbox_seq
from ok;

-- commit_runs · claim/commit.ts
-- Commits effects that write only their runs' own rows and journals.
with t as materialized (select clock_timestamp() as now),
f as materialized (
  select f.*, r.counts, r.pausing
  from (
    select u.run_id, coalesce(u.epoch, ($2::bigint[])[0]) as epoch,
      coalesce(u.token, ($3::uuid[])[0]) as token, coalesce(u.seq, ($4::bigint[])[0]) as seq,
      coalesce(u.n, ($5::int[])[0]) as n, coalesce(u.to_state, ($6::text[])[0]) as to_state,
      coalesce(u.ends, ($7::bool[])[0]) as ends, coalesce(u.failed, ($8::bool[])[0]) as failed,
      coalesce(u.continues, ($9::bool[])[0]) as continues,
      coalesce(u.delay_ms, ($10::float8[])[0]) as delay_ms,
      coalesce(u.wake_after, ($11::int[])[0]) as wake_after,
      coalesce(u.seen_inbox_seq, ($12::bigint[])[0]) as seen_inbox_seq, u.ord
    from unnest(
      (select $1::uuid[]), (select $2::bigint[]), (select $3::uuid[]), (select $4::bigint[]),
        (select $5::int[]), (select $6::text[]), (select $7::bool[]), (select $8::bool[]),
        (select $9::bool[]), (select $10::float8[]), (select $11::int[]), (select $12::bigint[])
    ) with ordinality as u (run_id, epoch, token, seq, n, to_state, ends, failed, continues, delay_ms, wake_after, seen_inbox_seq, ord)
  ) as f
  join "holdfast".runs r on r.id = f.run_id
  for no key update of r skip locked
),
ok as (
  update "holdfast".runs r
  set seq = f.seq + f.n,
    state = case
      when f.to_state is null then r.state
      when f.to_state = 'parked' and (r.inbox_seq > f.seen_inbox_seq) then 'waiting'
      else f.to_state end,
    token = case when f.to_state is null then r.token end,
    owner = case when f.to_state is null then r.owner end,
    lease_until = case when f.to_state is null then r.lease_until end,
    available_at = case
      when f.failed then t.now + (f.delay_ms) * interval '1 millisecond'
      when f.to_state = 'parked' and (r.inbox_seq > f.seen_inbox_seq) then t.now
      else r.available_at end,
    wake_at = case
      when f.to_state = 'parked'
        and not (
          f.to_state = 'parked' and (r.inbox_seq > f.seen_inbox_seq)
        ) then t.now + (f.delay_ms) * interval '1 millisecond' end,
    wake_after = case when f.to_state = 'parked' then f.wake_after else r.wake_after end,
    failures = case when f.continues then 0 else r.failures + f.failed::int end,
    generation = r.generation + f.continues::int,
    base_seq = case when f.continues then f.seq + f.n - 1 else r.base_seq end,
    crashes = case
      when f.failed
        or (f.to_state = 'waiting' and not f.continues and f.n = 1) then greatest(r.crashes - 1, 0)
      else 0 end,
    ended_at = case when f.ends or f.to_state = 'quarantined' then t.now end
  from f, t
  where r.id = f.run_id
    and r.epoch = f.epoch
    and r.token = f.token
    and r.seq = f.seq
    and not (f.ends and r.counts)
  returning f.ord, f.run_id, f.ends, f.counts as counted, r.state, r.inbox_seq, r.parent_id,
    case when r.state = 'waiting' then r.claim_group end as ready
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select ($1::uuid[])[e.ord], coalesce(($4::bigint[])[e.ord], ($4::bigint[])[0]) + e.i,
    coalesce(($2::bigint[])[e.ord], ($2::bigint[])[0]), coalesce(($3::uuid[])[e.ord], ($3::uuid[])[0]),
    e.kind, e.name, e.key, e.codec, e.data, t.now
  from (
    select u.ord, coalesce(u.i, ($14::int[])[0]) as i, coalesce(u.kind, ($15::text[])[0]) as kind,
      coalesce(u.name, ($16::text[])[0]) as name, coalesce(u.key, ($17::text[])[0]) as key,
      coalesce(u.codec, ($18::text[])[0]) as codec, coalesce(u.data, ($19::text[])[0]) as data
    from unnest(
      (select $13::int[]), (select $14::int[]), (select $15::text[]), (select $16::text[]),
        (select $17::text[]), (select $18::text[]), (select $19::text[])
    ) as u(ord, i, kind, name, key, codec, data)
  ) as e,
    t
  where ((e.ord in (select ord from ok)) is not false)
),
ended as (select run_id, parent_id, state, counted from ok where ends),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
)
select string_agg(ok.ord::text, ',') as accepted, string_agg(ok.inbox_seq::text, ',') as inbox_seqs,
  string_agg(ok.ready::text, ',') as ready, null::uuid as notified, null::uuid as held
from ok
union all
select null, null, null, run_id, null
from notified;

-- commit_runs_and_more · claim/commit.ts
-- Commits effects that also take messages, start children, continue as a new generation or report a misfit.
with t as materialized (select clock_timestamp() as now),
l as materialized (
  select f.*, r.counts, r.pausing, r.misfits, r.owner, r.claim_group
  from (
    select u.run_id, coalesce(u.epoch, ($2::bigint[])[0]) as epoch,
      coalesce(u.token, ($3::uuid[])[0]) as token, coalesce(u.seq, ($4::bigint[])[0]) as seq,
      coalesce(u.n, ($5::int[])[0]) as n, coalesce(u.to_state, ($6::text[])[0]) as to_state,
      coalesce(u.ends, ($7::bool[])[0]) as ends, coalesce(u.failed, ($8::bool[])[0]) as failed,
      coalesce(u.continues, ($9::bool[])[0]) as continues,
      coalesce(u.delay_ms, ($10::float8[])[0]) as delay_ms,
      coalesce(u.wake_after, ($11::int[])[0]) as wake_after,
      coalesce(u.seen_inbox_seq, ($12::bigint[])[0]) as seen_inbox_seq,
      coalesce(u.build, ($13::text[])[0]) as build, coalesce(u.new_tasks, ($14::int[])[0]) as new_tasks,
      coalesce(u.asks, ($15::bool[])[0]) as asks, coalesce(u.for_tasks, ($16::bool[])[0]) as for_tasks, u.ord
    from unnest(
      (select $1::uuid[]), (select $2::bigint[]), (select $3::uuid[]), (select $4::bigint[]),
        (select $5::int[]), (select $6::text[]), (select $7::bool[]), (select $8::bool[]),
        (select $9::bool[]), (select $10::float8[]), (select $11::int[]), (select $12::bigint[]),
        (select $13::text[]), (select $14::int[]), (select $15::bool[]), (select $16::bool[])
    ) with ordinality as u (run_id, epoch, token, seq, n, to_state, ends, failed, continues, delay_ms, wake_after, seen_inbox_seq, build, new_tasks, asks, for_tasks, ord)
  ) as f
  join "holdfast".runs r on r.id = f.run_id
  for no key update of r skip locked
),
f as materialized (
  select l.*, m.env, m.wanted, m.tried, m.fits
  from l
  cross join t
  left join lateral (
    select g.env, w.build as wanted, x.tried,
      exists (
        select
        from "holdfast".nodes n
        where n.env = g.env
          and n.stopped_at is null
          and n.seen_at >= t.now - (3 * coalesce(n.heartbeat_ms, 5000)) * interval '1 millisecond'
          and l.claim_group = any (n.claims)
          and not array[coalesce(n.build, ''),
          n.incarnation::text] && x.tried
      ) as fits
    from (select env from "holdfast".claim_groups g where g.id = l.claim_group limit 1) g
    left join lateral (
      select n.build, n.incarnation
      from (
        select j.token
        from "holdfast".journal j
        where j.run_id = l.run_id and j.token <> l.token and j.kind not in ('take', 'misfit', 'handed-back')
        order by j.seq desc
        limit 1
      ) j
      cross join lateral (
        select n.build, n.incarnation
        from "holdfast".nodes n
        where right(n.incarnation::text, 17) = right(j.token::text, 17)
        limit 1
      ) n
    ) w on true
    cross join lateral (
      select array (
        select name
        from unnest(l.misfits) with ordinality as u (name, i)
        where name !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
          or exists (
            select
            from "holdfast".nodes n
            where n.incarnation::text = name
              and n.stopped_at is null
              and n.seen_at >= t.now - (3 * coalesce(n.heartbeat_ms, 5000)) * interval '1 millisecond'
          )
        order by i
      ) || case
        when w.build = l.build and w.incarnation <> l.owner then l.owner::text
        else l.build end as tried
    ) x
    where l.build is not null
  ) m on true
),
ok as (
  update "holdfast".runs r
  set seq = f.seq + f.n,
    pending = r.pending + f.new_tasks,
    misfits = coalesce(f.tried, r.misfits),
    asks = r.asks or f.asks,
    state = case
      when f.to_state is null then r.state
      when f.to_state = 'parked'
        and (r.inbox_seq > f.seen_inbox_seq or f.for_tasks and r.pending + f.new_tasks = 0) then 'waiting'
      when (f.fits is false and not r.pausing) then 'quarantined'
      else f.to_state end,
    token = case when f.to_state is null then r.token end,
    owner = case when f.to_state is null then r.owner end,
    lease_until = case when f.to_state is null then r.lease_until end,
    available_at = case
      when f.failed then t.now + (f.delay_ms) * interval '1 millisecond'
      when f.to_state = 'parked'
        and (r.inbox_seq > f.seen_inbox_seq or f.for_tasks and r.pending + f.new_tasks = 0) then t.now
      else r.available_at end,
    wake_at = case
      when f.to_state = 'parked'
        and not (
          f.to_state = 'parked'
            and (r.inbox_seq > f.seen_inbox_seq or f.for_tasks and r.pending + f.new_tasks = 0)
        ) then t.now + (f.delay_ms) * interval '1 millisecond' end,
    wake_after = case when f.to_state = 'parked' then f.wake_after else r.wake_after end,
    failures = case when f.continues then 0 else r.failures + f.failed::int end,
    generation = r.generation + f.continues::int,
    base_seq = case when f.continues then f.seq + f.n - 1 else r.base_seq end,
    crashes = case
      when f.failed
        or (f.to_state = 'waiting' and not f.continues and f.n = 1)
        or f.build is not null then greatest(r.crashes - 1, 0)
      else 0 end,
    ended_at = case
      when f.ends or f.to_state = 'quarantined' or (f.fits is false and not r.pausing) then t.now end
  from f, t
  where r.id = f.run_id
    and r.epoch = f.epoch
    and r.token = f.token
    and r.seq = f.seq
    and not (f.ends and r.counts)
    and not (
      (
        f.ord in (
          select ord
          from (
            select k.ord, k.i
            from unnest(
              (select $24::int[]), (select $25::int[]), (select $26::text[]), (select $27::uuid[]),
                (select $28::uuid[]), (select $29::bool[])
            ) as k(ord, i, key, message, child, counts)
            left join lateral (
              select i.taken_seq is null and i.message_id = coalesce(k.message, i.message_id) as open
              from "holdfast".inbox i
              where i.run_id = ($1::uuid[])[k.ord] and i.key = k.key
              limit 1
            ) m on true
            left join lateral (
              select k.counts or r.parent_id is distinct from ($1::uuid[])[k.ord] as other
              from "holdfast".runs r
              where r.id = k.child
              limit 1
            ) c on true
            where (k.key is not null and m.open is not true) or c.other
          ) unfit
        )
      ) is not false
    )
  returning f.ord, f.run_id, f.ends, f.counts as counted, r.state, r.inbox_seq, r.parent_id,
    case when r.state = 'waiting' then r.claim_group end as ready
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select ($1::uuid[])[e.ord], coalesce(($4::bigint[])[e.ord], ($4::bigint[])[0]) + e.i,
    coalesce(($2::bigint[])[e.ord], ($2::bigint[])[0]), coalesce(($3::uuid[])[e.ord], ($3::uuid[])[0]),
    e.kind, e.name, e.key, e.codec, e.data, t.now
  from (
    select u.ord, coalesce(u.i, ($18::int[])[0]) as i, coalesce(u.kind, ($19::text[])[0]) as kind,
      coalesce(u.name, ($20::text[])[0]) as name, coalesce(u.key, ($21::text[])[0]) as key,
      coalesce(u.codec, ($22::text[])[0]) as codec, coalesce(u.data, ($23::text[])[0]) as data
    from unnest(
      (select $17::int[]), (select $18::int[]), (select $19::text[]), (select $20::text[]),
        (select $21::text[]), (select $22::text[]), (select $23::text[])
    ) as u(ord, i, kind, name, key, codec, data)
  ) as e,
    t
  where ((e.ord in (select ord from ok)) is not false)
),
ended as (select run_id, parent_id, state, counted from ok where ends),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
),
taken as (
  update "holdfast".inbox i
  set taken_seq = coalesce(($4::bigint[])[k.ord], ($4::bigint[])[0]) + k.i
  from unnest(
    (select $24::int[]), (select $25::int[]), (select $26::text[]), (select $27::uuid[]),
      (select $28::uuid[]), (select $29::bool[])
  ) as k(ord, i, key, message, child, counts)
  where i.run_id = ($1::uuid[])[k.ord] and i.key = k.key and ((k.ord in (select ord from ok)) is not false)
  returning i.run_id, i.taken_seq, k.ord, i.name, i.key, i.codec, i.data
),
taken_in as (
  insert into "holdfast".journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select k.run_id, k.taken_seq, coalesce(($2::bigint[])[k.ord], ($2::bigint[])[0]),
    coalesce(($3::uuid[])[k.ord], ($3::uuid[])[0]), 'take', k.name, k.key, k.codec, k.data, t.now
  from taken k, t
),
c as materialized (
  select *
  from unnest(
    (select $30::uuid[]), (select $31::int[]), (select $32::int[]), (select $33::float8[]),
      (select $34::int[]), (select $35::uuid[]), (select $36::text[]), (select $37::text[]),
      (select $38::text[]), (select $39::int[]), (select $40::text[]), (select $41::bool[]),
      (select $42::int[]), (select $43::int[]), (select $44::bool[])
  ) as c(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, limited, ord, pending, counts)
  where ((c.ord in (select ord from ok)) is not false)
    and (select r.id from "holdfast".runs r where r.id = c.id limit 1) is null
),
children as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, pending,
      counts, recovery
  )
  select id, claim_group, priority,
    case
      when counts and ((c.ord in (select ord from f where pausing)) is not false) then 'paused'
      when pending > 0 then 'blocked'
      when limited then 'held'
      else 'waiting' end,
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, limited,
    pending, counts, recovery
  from c, t
  returning id, state, claim_group
),
needs as (
  insert into "holdfast".run_needs (need_id, run_id)
  select n.need_id, n.run_id
  from unnest((select $54::int[]), (select $55::uuid[]), (select $56::uuid[])) as n (ord, need_id, run_id)
  where ((n.ord in (select ord from ok)) is not false)
),
children_limits as (
  insert into "holdfast".run_limits (
    run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at
  )
  select ($30::uuid[])[l.run], l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case
      when l.stage = 1
        and (
          (($30::uuid[])[l.run] in (select id from children where state = 'held')) is not false
        ) then 'waits'
      else 'later' end,
    case l.kind when 'serial' then 0 else ($32::int[])[l.run] end,
    t.now + (($33::float8[])[l.run] + ($39::int[])[l.run] * 0.001) * interval '1 millisecond'
  from unnest(
    (select $45::int[]), (select $46::int[]), (select $47::text[]), (select $48::text[]),
      (select $49::int[]), (select $50::float8[]), (select $51::text[])
  ) as l(run, stage, key, kind, max, per_ms, overflow),
    t
  where ((($42::int[])[l.run] in (select ord from ok)) is not false)
    and ((($30::uuid[])[l.run] in (select id from c)) is not false)
),
children_start as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now
  from c, t
),
reopened as (
  update "holdfast".inbox i
  set taken_seq = null
  from unnest((select $52::int[]), (select $53::text[])) as k (ord, key)
  where i.run_id = ($1::uuid[])[k.ord] and i.key = k.key and ((k.ord in (select ord from ok)) is not false)
),
misfits as (
  insert into "holdfast".misfit_runs as k (run_id, env, claim_group, wanted, look_at)
  select f.run_id, f.env, f.claim_group, f.wanted, t.now
  from f, t
  where f.build is not null and ((f.ord in (select ord from ok)) is not false)
  on conflict (run_id) do update set wanted = coalesce(excluded.wanted, k.wanted), look_at = excluded.look_at
)
select string_agg(ok.ord::text, ',') as accepted, string_agg(ok.inbox_seq::text, ',') as inbox_seqs,
  string_agg(ok.ready::text, ',') as ready, null::uuid as notified, null::uuid as held
from ok
union all
select null, null, null, run_id, null
from notified
union all
select null, null, null, null, null
from (
  select set_config(
    'holdfast.hint',
      (
        select case
          when count(distinct g) > 200 then 'any'
          else coalesce(string_agg(distinct g::text, ','), '') end
        from (
          select ready
          from ok
          where ready is not null
          union all
          select claim_group
          from children
          where state = 'waiting'
        ) as x(g)
      ),
      false
  ) as hint
  offset 0
) x
where hint is not null;

-- commit_tasks · claim/commit.ts
-- Commits effects of which some end a task, and counts the ends in the runs that wait for them.
with t as materialized (select clock_timestamp() as now),
waiters as materialized (
  select distinct x.id
  from (
    select run_id
    from unnest((select $1::uuid[])) with ordinality as w (run_id, ord)
    where coalesce(($7::bool[])[w.ord], ($7::bool[])[0])
  ) as e(run_id)
  cross join lateral (
    select r.parent_id as id
    from "holdfast".runs r
    where r.id = e.run_id and r.counts and r.parent_id is not null
    union all
    select n.run_id
    from "holdfast".run_needs n
    where n.need_id = e.run_id
  ) x
),
turn as materialized (
  select r.id
  from "holdfast".runs r
  where r.id = any (array (select id from waiters)) and true
  order by r.id
  for no key update
),
f as materialized (
  select f.*, r.counts, r.pausing
  from (
    select u.run_id, coalesce(u.epoch, ($2::bigint[])[0]) as epoch,
      coalesce(u.token, ($3::uuid[])[0]) as token, coalesce(u.seq, ($4::bigint[])[0]) as seq,
      coalesce(u.n, ($5::int[])[0]) as n, coalesce(u.to_state, ($6::text[])[0]) as to_state,
      coalesce(u.ends, ($7::bool[])[0]) as ends, coalesce(u.failed, ($8::bool[])[0]) as failed,
      coalesce(u.continues, ($9::bool[])[0]) as continues,
      coalesce(u.delay_ms, ($10::float8[])[0]) as delay_ms,
      coalesce(u.wake_after, ($11::int[])[0]) as wake_after,
      coalesce(u.seen_inbox_seq, ($12::bigint[])[0]) as seen_inbox_seq, u.ord
    from unnest(
      (select $1::uuid[]), (select $2::bigint[]), (select $3::uuid[]), (select $4::bigint[]),
        (select $5::int[]), (select $6::text[]), (select $7::bool[]), (select $8::bool[]),
        (select $9::bool[]), (select $10::float8[]), (select $11::int[]), (select $12::bigint[])
    ) with ordinality as u (run_id, epoch, token, seq, n, to_state, ends, failed, continues, delay_ms, wake_after, seen_inbox_seq, ord)
  ) as f
  join "holdfast".runs r on r.id = f.run_id
  where (select count(*) from turn) >= 0 and not ((f.run_id in (select id from waiters)) is not false)
  for no key update of r skip locked
),
ok as (
  update "holdfast".runs r
  set seq = f.seq + f.n,
    counts = r.counts and not f.ends,
    state = case
      when f.to_state is null then r.state
      when f.to_state = 'parked' and (r.inbox_seq > f.seen_inbox_seq) then 'waiting'
      else f.to_state end,
    token = case when f.to_state is null then r.token end,
    owner = case when f.to_state is null then r.owner end,
    lease_until = case when f.to_state is null then r.lease_until end,
    available_at = case
      when f.failed then t.now + (f.delay_ms) * interval '1 millisecond'
      when f.to_state = 'parked' and (r.inbox_seq > f.seen_inbox_seq) then t.now
      else r.available_at end,
    wake_at = case
      when f.to_state = 'parked'
        and not (
          f.to_state = 'parked' and (r.inbox_seq > f.seen_inbox_seq)
        ) then t.now + (f.delay_ms) * interval '1 millisecond' end,
    wake_after = case when f.to_state = 'parked' then f.wake_after else r.wake_after end,
    failures = case when f.continues then 0 else r.failures + f.failed::int end,
    generation = r.generation + f.continues::int,
    base_seq = case when f.continues then f.seq + f.n - 1 else r.base_seq end,
    crashes = case
      when f.failed
        or (f.to_state = 'waiting' and not f.continues and f.n = 1) then greatest(r.crashes - 1, 0)
      else 0 end,
    ended_at = case when f.ends or f.to_state = 'quarantined' then t.now end
  from f, t
  where r.id = f.run_id and r.epoch = f.epoch and r.token = f.token and r.seq = f.seq
  returning f.ord, f.run_id, f.ends, f.counts as counted, r.state, r.inbox_seq, r.parent_id,
    case when r.state = 'waiting' then r.claim_group end as ready
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select ($1::uuid[])[e.ord], coalesce(($4::bigint[])[e.ord], ($4::bigint[])[0]) + e.i,
    coalesce(($2::bigint[])[e.ord], ($2::bigint[])[0]), coalesce(($3::uuid[])[e.ord], ($3::uuid[])[0]),
    e.kind, e.name, e.key, e.codec, e.data, t.now
  from (
    select u.ord, coalesce(u.i, ($14::int[])[0]) as i, coalesce(u.kind, ($15::text[])[0]) as kind,
      coalesce(u.name, ($16::text[])[0]) as name, coalesce(u.key, ($17::text[])[0]) as key,
      coalesce(u.codec, ($18::text[])[0]) as codec, coalesce(u.data, ($19::text[])[0]) as data
    from unnest(
      (select $13::int[]), (select $14::int[]), (select $15::text[]), (select $16::text[]),
        (select $17::text[]), (select $18::text[]), (select $19::text[])
    ) as u(ord, i, kind, name, key, codec, data)
  ) as e,
    t
  where ((e.ord in (select ord from ok)) is not false)
),
ended as (select run_id, parent_id, state, counted from ok where ends),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
),
fed as materialized (
  select x.id, count(*)::int as n
  from ended e
  cross join lateral (
    select e.parent_id as id
    where e.parent_id is not null
    union all
    select n.run_id
    from "holdfast".run_needs n
    where n.need_id = e.run_id
  ) x
  where e.counted and true
  group by x.id
),
up as (
  update "holdfast".runs r
  set pending = greatest(r.pending - u.n, 0),
    state = case when r.pending <= u.n and r.state in ('blocked', 'parked') then 'waiting' else r.state end,
    available_at = case
      when r.pending <= u.n
        and r.state in ('blocked', 'parked') then t.now + (u.ord - 1) * interval '1 microsecond'
      else r.available_at end,
    wake_at = case when r.pending <= u.n and r.state in ('blocked', 'parked') then null else r.wake_at end
  from unnest(
    array (select id from fed order by id), array (select n from fed order by id)
  ) with ordinality as u (id, n, ord),
    t
  where r.id = u.id
  returning r.id, r.claim_group, r.state
)
select string_agg(ok.ord::text, ',') as accepted, string_agg(ok.inbox_seq::text, ',') as inbox_seqs,
  string_agg(ok.ready::text, ',') as ready, null::uuid as notified, null::uuid as held
from ok
union all
select null, null, null, run_id, null
from notified
union all
select null, null, case when state = 'waiting' then claim_group::text end, null,
  case when state = 'held' then id end
from up
where state in ('waiting', 'held')
union all
select null, null, null, null, null
from (
  select set_config(
    'holdfast.hint',
      (
        select case
          when count(distinct g) > 200 then 'any'
          else coalesce(string_agg(distinct g::text, ','), '') end
        from (
          select ready
          from ok
          where ready is not null
          union all
          select claim_group
          from up
          where state = 'waiting'
        ) as x(g)
      ),
      false
  ) as hint
  offset 0
) x
where hint is not null;

-- commit_tasks_and_more · claim/commit.ts
-- Commits effects that end tasks, together with effects on other rows.
with t as materialized (select clock_timestamp() as now),
waiters as materialized (
  select distinct x.id
  from (
    select run_id
    from unnest((select $1::uuid[])) with ordinality as w (run_id, ord)
    where coalesce(($7::bool[])[w.ord], ($7::bool[])[0])
  ) as e(run_id)
  cross join lateral (
    select r.parent_id as id
    from "holdfast".runs r
    where r.id = e.run_id and r.counts and r.parent_id is not null
    union all
    select n.run_id
    from "holdfast".run_needs n
    where n.need_id = e.run_id
  ) x
),
turn as materialized (
  select r.id
  from "holdfast".runs r
  where r.id = any (array (select id from waiters)) and true
  order by r.id
  for no key update
),
l as materialized (
  select f.*, r.counts, r.pausing, r.misfits, r.owner, r.claim_group
  from (
    select u.run_id, coalesce(u.epoch, ($2::bigint[])[0]) as epoch,
      coalesce(u.token, ($3::uuid[])[0]) as token, coalesce(u.seq, ($4::bigint[])[0]) as seq,
      coalesce(u.n, ($5::int[])[0]) as n, coalesce(u.to_state, ($6::text[])[0]) as to_state,
      coalesce(u.ends, ($7::bool[])[0]) as ends, coalesce(u.failed, ($8::bool[])[0]) as failed,
      coalesce(u.continues, ($9::bool[])[0]) as continues,
      coalesce(u.delay_ms, ($10::float8[])[0]) as delay_ms,
      coalesce(u.wake_after, ($11::int[])[0]) as wake_after,
      coalesce(u.seen_inbox_seq, ($12::bigint[])[0]) as seen_inbox_seq,
      coalesce(u.build, ($13::text[])[0]) as build, coalesce(u.new_tasks, ($14::int[])[0]) as new_tasks,
      coalesce(u.asks, ($15::bool[])[0]) as asks, coalesce(u.for_tasks, ($16::bool[])[0]) as for_tasks, u.ord
    from unnest(
      (select $1::uuid[]), (select $2::bigint[]), (select $3::uuid[]), (select $4::bigint[]),
        (select $5::int[]), (select $6::text[]), (select $7::bool[]), (select $8::bool[]),
        (select $9::bool[]), (select $10::float8[]), (select $11::int[]), (select $12::bigint[]),
        (select $13::text[]), (select $14::int[]), (select $15::bool[]), (select $16::bool[])
    ) with ordinality as u (run_id, epoch, token, seq, n, to_state, ends, failed, continues, delay_ms, wake_after, seen_inbox_seq, build, new_tasks, asks, for_tasks, ord)
  ) as f
  join "holdfast".runs r on r.id = f.run_id
  where (select count(*) from turn) >= 0 and not ((f.run_id in (select id from waiters)) is not false)
  for no key update of r skip locked
),
f as materialized (
  select l.*, m.env, m.wanted, m.tried, m.fits
  from l
  cross join t
  left join lateral (
    select g.env, w.build as wanted, x.tried,
      exists (
        select
        from "holdfast".nodes n
        where n.env = g.env
          and n.stopped_at is null
          and n.seen_at >= t.now - (3 * coalesce(n.heartbeat_ms, 5000)) * interval '1 millisecond'
          and l.claim_group = any (n.claims)
          and not array[coalesce(n.build, ''),
          n.incarnation::text] && x.tried
      ) as fits
    from (select env from "holdfast".claim_groups g where g.id = l.claim_group limit 1) g
    left join lateral (
      select n.build, n.incarnation
      from (
        select j.token
        from "holdfast".journal j
        where j.run_id = l.run_id and j.token <> l.token and j.kind not in ('take', 'misfit', 'handed-back')
        order by j.seq desc
        limit 1
      ) j
      cross join lateral (
        select n.build, n.incarnation
        from "holdfast".nodes n
        where right(n.incarnation::text, 17) = right(j.token::text, 17)
        limit 1
      ) n
    ) w on true
    cross join lateral (
      select array (
        select name
        from unnest(l.misfits) with ordinality as u (name, i)
        where name !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
          or exists (
            select
            from "holdfast".nodes n
            where n.incarnation::text = name
              and n.stopped_at is null
              and n.seen_at >= t.now - (3 * coalesce(n.heartbeat_ms, 5000)) * interval '1 millisecond'
          )
        order by i
      ) || case
        when w.build = l.build and w.incarnation <> l.owner then l.owner::text
        else l.build end as tried
    ) x
    where l.build is not null
  ) m on true
),
ok as (
  update "holdfast".runs r
  set seq = f.seq + f.n,
    pending = r.pending + f.new_tasks,
    misfits = coalesce(f.tried, r.misfits),
    asks = r.asks or f.asks,
    counts = r.counts and not f.ends,
    state = case
      when f.to_state is null then r.state
      when f.to_state = 'parked'
        and (r.inbox_seq > f.seen_inbox_seq or f.for_tasks and r.pending + f.new_tasks = 0) then 'waiting'
      when (f.fits is false and not r.pausing) then 'quarantined'
      else f.to_state end,
    token = case when f.to_state is null then r.token end,
    owner = case when f.to_state is null then r.owner end,
    lease_until = case when f.to_state is null then r.lease_until end,
    available_at = case
      when f.failed then t.now + (f.delay_ms) * interval '1 millisecond'
      when f.to_state = 'parked'
        and (r.inbox_seq > f.seen_inbox_seq or f.for_tasks and r.pending + f.new_tasks = 0) then t.now
      else r.available_at end,
    wake_at = case
      when f.to_state = 'parked'
        and not (
          f.to_state = 'parked'
            and (r.inbox_seq > f.seen_inbox_seq or f.for_tasks and r.pending + f.new_tasks = 0)
        ) then t.now + (f.delay_ms) * interval '1 millisecond' end,
    wake_after = case when f.to_state = 'parked' then f.wake_after else r.wake_after end,
    failures = case when f.continues then 0 else r.failures + f.failed::int end,
    generation = r.generation + f.continues::int,
    base_seq = case when f.continues then f.seq + f.n - 1 else r.base_seq end,
    crashes = case
      when f.failed
        or (f.to_state = 'waiting' and not f.continues and f.n = 1)
        or f.build is not null then greatest(r.crashes - 1, 0)
      else 0 end,
    ended_at = case
      when f.ends or f.to_state = 'quarantined' or (f.fits is false and not r.pausing) then t.now end
  from f, t
  where r.id = f.run_id
    and r.epoch = f.epoch
    and r.token = f.token
    and r.seq = f.seq
    and not (
      (
        f.ord in (
          select ord
          from (
            select k.ord, k.i
            from unnest(
              (select $24::int[]), (select $25::int[]), (select $26::text[]), (select $27::uuid[]),
                (select $28::uuid[]), (select $29::bool[])
            ) as k(ord, i, key, message, child, counts)
            left join lateral (
              select i.taken_seq is null and i.message_id = coalesce(k.message, i.message_id) as open
              from "holdfast".inbox i
              where i.run_id = ($1::uuid[])[k.ord] and i.key = k.key
              limit 1
            ) m on true
            left join lateral (
              select k.counts or r.parent_id is distinct from ($1::uuid[])[k.ord] as other
              from "holdfast".runs r
              where r.id = k.child
              limit 1
            ) c on true
            where (k.key is not null and m.open is not true) or c.other
          ) unfit
        )
      ) is not false
    )
  returning f.ord, f.run_id, f.ends, f.counts as counted, r.state, r.inbox_seq, r.parent_id,
    case when r.state = 'waiting' then r.claim_group end as ready
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select ($1::uuid[])[e.ord], coalesce(($4::bigint[])[e.ord], ($4::bigint[])[0]) + e.i,
    coalesce(($2::bigint[])[e.ord], ($2::bigint[])[0]), coalesce(($3::uuid[])[e.ord], ($3::uuid[])[0]),
    e.kind, e.name, e.key, e.codec, e.data, t.now
  from (
    select u.ord, coalesce(u.i, ($18::int[])[0]) as i, coalesce(u.kind, ($19::text[])[0]) as kind,
      coalesce(u.name, ($20::text[])[0]) as name, coalesce(u.key, ($21::text[])[0]) as key,
      coalesce(u.codec, ($22::text[])[0]) as codec, coalesce(u.data, ($23::text[])[0]) as data
    from unnest(
      (select $17::int[]), (select $18::int[]), (select $19::text[]), (select $20::text[]),
        (select $21::text[]), (select $22::text[]), (select $23::text[])
    ) as u(ord, i, kind, name, key, codec, data)
  ) as e,
    t
  where ((e.ord in (select ord from ok)) is not false)
),
ended as (select run_id, parent_id, state, counted from ok where ends),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
),
fed as materialized (
  select x.id, count(*)::int as n
  from ended e
  cross join lateral (
    select e.parent_id as id
    where e.parent_id is not null
    union all
    select n.run_id
    from "holdfast".run_needs n
    where n.need_id = e.run_id
  ) x
  where e.counted and true
  group by x.id
),
up as (
  update "holdfast".runs r
  set pending = greatest(r.pending - u.n, 0),
    state = case when r.pending <= u.n and r.state in ('blocked', 'parked') then 'waiting' else r.state end,
    available_at = case
      when r.pending <= u.n
        and r.state in ('blocked', 'parked') then t.now + (u.ord - 1) * interval '1 microsecond'
      else r.available_at end,
    wake_at = case when r.pending <= u.n and r.state in ('blocked', 'parked') then null else r.wake_at end
  from unnest(
    array (select id from fed order by id), array (select n from fed order by id)
  ) with ordinality as u (id, n, ord),
    t
  where r.id = u.id
  returning r.id, r.claim_group, r.state
),
taken as (
  update "holdfast".inbox i
  set taken_seq = coalesce(($4::bigint[])[k.ord], ($4::bigint[])[0]) + k.i
  from unnest(
    (select $24::int[]), (select $25::int[]), (select $26::text[]), (select $27::uuid[]),
      (select $28::uuid[]), (select $29::bool[])
  ) as k(ord, i, key, message, child, counts)
  where i.run_id = ($1::uuid[])[k.ord] and i.key = k.key and ((k.ord in (select ord from ok)) is not false)
  returning i.run_id, i.taken_seq, k.ord, i.name, i.key, i.codec, i.data
),
taken_in as (
  insert into "holdfast".journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select k.run_id, k.taken_seq, coalesce(($2::bigint[])[k.ord], ($2::bigint[])[0]),
    coalesce(($3::uuid[])[k.ord], ($3::uuid[])[0]), 'take', k.name, k.key, k.codec, k.data, t.now
  from taken k, t
),
c as materialized (
  select *
  from unnest(
    (select $30::uuid[]), (select $31::int[]), (select $32::int[]), (select $33::float8[]),
      (select $34::int[]), (select $35::uuid[]), (select $36::text[]), (select $37::text[]),
      (select $38::text[]), (select $39::int[]), (select $40::text[]), (select $41::bool[]),
      (select $42::int[]), (select $43::int[]), (select $44::bool[])
  ) as c(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, limited, ord, pending, counts)
  where ((c.ord in (select ord from ok)) is not false)
    and (select r.id from "holdfast".runs r where r.id = c.id limit 1) is null
),
children as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, pending,
      counts, recovery
  )
  select id, claim_group, priority,
    case
      when counts and ((c.ord in (select ord from f where pausing)) is not false) then 'paused'
      when pending > 0 then 'blocked'
      when limited then 'held'
      else 'waiting' end,
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, limited,
    pending, counts, recovery
  from c, t
  returning id, state, claim_group
),
needs as (
  insert into "holdfast".run_needs (need_id, run_id)
  select n.need_id, n.run_id
  from unnest((select $54::int[]), (select $55::uuid[]), (select $56::uuid[])) as n (ord, need_id, run_id)
  where ((n.ord in (select ord from ok)) is not false)
),
children_limits as (
  insert into "holdfast".run_limits (
    run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at
  )
  select ($30::uuid[])[l.run], l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case
      when l.stage = 1
        and (
          (($30::uuid[])[l.run] in (select id from children where state = 'held')) is not false
        ) then 'waits'
      else 'later' end,
    case l.kind when 'serial' then 0 else ($32::int[])[l.run] end,
    t.now + (($33::float8[])[l.run] + ($39::int[])[l.run] * 0.001) * interval '1 millisecond'
  from unnest(
    (select $45::int[]), (select $46::int[]), (select $47::text[]), (select $48::text[]),
      (select $49::int[]), (select $50::float8[]), (select $51::text[])
  ) as l(run, stage, key, kind, max, per_ms, overflow),
    t
  where ((($42::int[])[l.run] in (select ord from ok)) is not false)
    and ((($30::uuid[])[l.run] in (select id from c)) is not false)
),
children_start as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now
  from c, t
),
reopened as (
  update "holdfast".inbox i
  set taken_seq = null
  from unnest((select $52::int[]), (select $53::text[])) as k (ord, key)
  where i.run_id = ($1::uuid[])[k.ord] and i.key = k.key and ((k.ord in (select ord from ok)) is not false)
),
misfits as (
  insert into "holdfast".misfit_runs as k (run_id, env, claim_group, wanted, look_at)
  select f.run_id, f.env, f.claim_group, f.wanted, t.now
  from f, t
  where f.build is not null and ((f.ord in (select ord from ok)) is not false)
  on conflict (run_id) do update set wanted = coalesce(excluded.wanted, k.wanted), look_at = excluded.look_at
)
select string_agg(ok.ord::text, ',') as accepted, string_agg(ok.inbox_seq::text, ',') as inbox_seqs,
  string_agg(ok.ready::text, ',') as ready, null::uuid as notified, null::uuid as held
from ok
union all
select null, null, null, run_id, null
from notified
union all
select null, null, case when state = 'waiting' then claim_group::text end, null,
  case when state = 'held' then id end
from up
where state in ('waiting', 'held')
union all
select null, null, null, null, null
from (
  select set_config(
    'holdfast.hint',
      (
        select case
          when count(distinct g) > 200 then 'any'
          else coalesce(string_agg(distinct g::text, ','), '') end
        from (
          select ready
          from ok
          where ready is not null
          union all
          select claim_group
          from up
          where state = 'waiting'
          union all
          select claim_group
          from children
          where state = 'waiting'
        ) as x(g)
      ),
      false
  ) as hint
  offset 0
) x
where hint is not null;

-- complete_timeout_in · timeout/claim-timeouts.ts
-- Removes a timeout that was handled, in the caller's transaction.
delete from "holdfast".timeouts
where generation = $1 and token = $2
returning generation;

-- complete_timeouts · timeout/claim-timeouts.ts
-- Removes timeouts that were handled.
with mine as materialized (
  select a.*
  from unnest((select $1::uuid[]), (select $2::uuid[])) as a (generation, token)
  cross join lateral (
    select o.generation
    from "holdfast".timeouts o
    where o.generation = a.generation and o.token = a.token
    limit 1
    for update skip locked
  ) o
)
delete from "holdfast".timeouts o using mine m
where o.generation = m.generation and o.token = m.token
returning o.generation, o.token;

-- count_figures · statistic/statistics.ts
-- Counts what started and ended in the last closed steps of time.
with t as materialized (select clock_timestamp() as now),
w as materialized (
  select high - interval '30000 milliseconds' as low, high
  from (select date_bin(10000 * interval '1 millisecond', t.now, timestamptz 'epoch') as high from t) x
),
mine as materialized (
  select g.id,
    case
      when dense_rank() over (order by g.program collate "C", g.queue collate "C") <= 200 then program
      else 'other' end as program,
    case
      when dense_rank() over (order by g.program collate "C", g.queue collate "C") <= 200 then queue
      else 'other' end as queue
  from "holdfast".claim_groups g
  where g.env = $1
),
happened as (
  select date_bin(10000 * interval '1 millisecond', x.ended_at, timestamptz 'epoch') as at, m.program,
    m.queue, x.state as what,
    width_bucket(
      extract(epoch from x.ended_at - x.created_at) * 1000, array[50, 100, 250, 500, 1000, 2500, 5000,
        10000, 30000, 60000, 300000, 1800000, 7200000]::numeric[]
    ) as bucket
  from mine m
  cross join lateral (
    select r.state, r.created_at, r.ended_at
    from "holdfast".runs r
    where r.claim_group = m.id
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = 0
      and r.ended_at is not null
      and r.ended_at >= (select low from w)
      and r.ended_at < (select high from w)
    union all
    select r.state, r.created_at, r.ended_at
    from "holdfast".runs r
    where r.claim_group = m.id
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = 1
      and r.ended_at is not null
      and r.ended_at >= (select low from w)
      and r.ended_at < (select high from w)
  ) x
  where x.state <> 'quarantined'
  union all
  select date_bin(10000 * interval '1 millisecond', x.created_at, timestamptz 'epoch'), m.program, m.queue,
    'started', null
  from (
    select r.claim_group, r.created_at
    from "holdfast".runs r
    where r.id >= rpad(
      lpad(
        to_hex(floor(extract(epoch from (select low from w) - interval '10000 milliseconds') * 1000)::bigint),
          12, '0'
      ),
        32, '0'
    )::uuid
      and r.id < rpad(
        lpad(
          to_hex(
            floor(extract(epoch from (select high from w) + interval '10000 milliseconds') * 1000)::bigint
          ),
            12, '0'
        ),
          32, '0'
      )::uuid
      and r.created_at >= (select low from w)
      and r.created_at < (select high from w)
    offset 0
  ) x
  join mine m on m.id = x.claim_group
)
insert into "holdfast".run_figures as f (
  env, at, step_ms, program, queue, started, completed, failed, dead, cancelled, skipped, durations
)
select $1, h.at, 10000, coalesce(h.program, ''), coalesce(h.queue, ''),
  count(*) filter (where h.what = 'started'), count(*) filter (where h.what = 'completed'),
  count(*) filter (where h.what = 'failed'), count(*) filter (where h.what = 'dead'),
  count(*) filter (where h.what = 'cancelled'), count(*) filter (where h.what = 'skipped'),
  array[count(*) filter (where h.bucket = 0), count(*) filter (where h.bucket = 1),
  count(*) filter (where h.bucket = 2), count(*) filter (where h.bucket = 3),
  count(*) filter (where h.bucket = 4), count(*) filter (where h.bucket = 5),
  count(*) filter (where h.bucket = 6), count(*) filter (where h.bucket = 7),
  count(*) filter (where h.bucket = 8), count(*) filter (where h.bucket = 9),
  count(*) filter (where h.bucket = 10), count(*) filter (where h.bucket = 11),
  count(*) filter (where h.bucket = 12), count(*) filter (where h.bucket = 13)]::int[]
from happened h
group by grouping sets((h.at, h.program, h.queue), (h.at))
on conflict (env, step_ms, at, program, queue) do update set started = greatest(f.started, excluded.started),
  completed = greatest(f.completed, excluded.completed), failed = greatest(f.failed, excluded.failed),
  dead = greatest(f.dead, excluded.dead), cancelled = greatest(f.cancelled, excluded.cancelled),
  skipped = greatest(f.skipped, excluded.skipped),
  durations = array[greatest(f.durations[1], excluded.durations[1]),
  greatest(f.durations[2], excluded.durations[2]), greatest(f.durations[3], excluded.durations[3]),
  greatest(f.durations[4], excluded.durations[4]), greatest(f.durations[5], excluded.durations[5]),
  greatest(f.durations[6], excluded.durations[6]), greatest(f.durations[7], excluded.durations[7]),
  greatest(f.durations[8], excluded.durations[8]), greatest(f.durations[9], excluded.durations[9]),
  greatest(f.durations[10], excluded.durations[10]), greatest(f.durations[11], excluded.durations[11]),
  greatest(f.durations[12], excluded.durations[12]), greatest(f.durations[13], excluded.durations[13]),
  greatest(f.durations[14], excluded.durations[14])]
where excluded.started > f.started
  or excluded.completed > f.completed
  or excluded.failed > f.failed
  or excluded.dead > f.dead
  or excluded.cancelled > f.cancelled
  or excluded.skipped > f.skipped;

-- count_prunable_runs, old · run/retain-runs.ts
-- Counts the runs that would be removed, by state.
select r.state, count(*)::int as n
from "holdfast".claim_groups g
join "holdfast".runs r on r.claim_group = g.id
where g.env = $1
  and ($5::text is null or g.program = $5)
  and ($6::text is null or g.queue = $6)
  and ($7::uuid[] is null or r.id = any ($7))
  and $3::int is null
  and r.ended_at is not null
  and r.ended_at <= (select clock_timestamp()) - ($2::float8) * interval '1 millisecond'
  and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
  and ($4::text[] is null or r.state = any ($4))
  and not exists (
    select
    from "holdfast".runs p
    where p.id = r.parent_id
      and p.state not in ('completed', 'cancelled', 'skipped')
      and not (
        p.ended_at is not null
          and p.state in ('failed', 'dead')
          and p.ended_at <= (select clock_timestamp()) - ($2::float8) * interval '1 millisecond'
          and ($4::text[] is null or p.state = any ($4))
      )
  )
group by 1;

-- count_runs, of all states · run/list-runs.ts
-- Counts runs by state.
select r.state, count(*)::int as n
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
where g.env = $1 and r.archived_at is null
group by 1;

-- count_runs, with every condition · run/list-runs.ts
-- Counts runs by state.
select r.state, count(*)::int as n
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
where g.env = $1
  and g.stack = $2
  and g.program = $3
  and g.queue = $4
  and r.archived_at is null
  and r.state in ('waiting', 'running')
  and r.id >= $5::uuid
  and r.id < $6::uuid
  and r.owner = $7::uuid
  and r.state = 'running'
group by 1;

-- count_runs, troubled · run/list-runs.ts
-- Counts runs by state.
select r.state, count(*)::int as n
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
where g.env = $1
  and r.archived_at is null
  and r.state in ('failed', 'dead')
  and (
    case
      when r.archived_at is not null then 2
      when r.state in ('failed', 'dead', 'quarantined') then 1
      else 0 end
  ) = 1
  and r.ended_at is not null
group by 1;

-- count_runs, archived · run/list-runs.ts
-- Counts runs by state.
select r.state, count(*)::int as n
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
where g.env = $1 and r.archived_at is not null
group by 1;

-- count_runs, with attributes · run/list-runs.ts
-- Counts runs by state.
select r.state, count(*)::int as n
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
where g.env = $1
  and r.archived_at is null
  and exists (select from "holdfast".run_attributes a where a.run_id = r.id and a.name = $2 and a.value = $3)
  and exists (select from "holdfast".run_attributes a where a.run_id = r.id and a.name = $4 and a.value = $5)
group by 1;

-- count_runs, failed, with attributes · run/list-runs.ts
-- Counts runs by state.
select r.state, count(*)::int as n
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
where g.env = $1
  and g.program = $2
  and r.archived_at is null
  and r.state in ('failed')
  and exists (select from "holdfast".run_attributes a where a.run_id = r.id and a.name = $3 and a.value = $4)
  and exists (select from "holdfast".run_attributes a where a.run_id = r.id and a.name = $5 and a.value = $6)
  and (
    case
      when r.archived_at is not null then 2
      when r.state in ('failed', 'dead', 'quarantined') then 1
      else 0 end
  ) = 1
  and r.ended_at is not null
group by 1;

-- count_runs, with a key · run/list-runs.ts
-- Counts runs by state.
select r.state, count(*)::int as n
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
where g.env = $1
  and g.program = $2
  and r.archived_at is null
  and r.id = any (
    array (
      select k.run_id
      from "holdfast".run_keys k
      where k.env = $3
        and k.key collate "C" >= $4::text
        and k.key collate "C" < $5::text
        and starts_with(k.key, $6::text)
    )
  )
group by 1;

-- count_runs, deferred · run/list-runs.ts
-- Counts runs by state.
select r.state, count(*)::int as n
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
where g.env = $1
  and r.archived_at is null
  and r.id = any (array (select f.run_id from "holdfast".deferred_runs f))
group by 1;

-- count_runs, of a parent · run/list-runs.ts
-- Counts runs by state.
select r.state, count(*)::int as n
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
where g.env = $1
  and r.archived_at is null
  and r.parent_id = $2::uuid
  and r.id = any (
    array (
      select j.key::uuid
      from "holdfast".journal j
      where j.run_id = $2::uuid and j.kind in ('enqueue', 'task')
    )
  )
group by 1;

-- count_some_runs, of all states · view/views.ts
-- Counts runs up to a bound.
select count(*)::int as n
from (
  select
  from "holdfast".claim_groups g
  cross join lateral (
    select
    from "holdfast".runs r
    where r.claim_group = g.id and g.env = $1 and r.archived_at is null
    limit $2
  ) r
  limit $2
) x;

-- count_some_runs, with every condition · view/views.ts
-- Counts runs up to a bound.
select count(*)::int as n
from (
  select
  from "holdfast".claim_groups g
  cross join lateral (
    select
    from "holdfast".runs r
    where r.claim_group = g.id
      and g.env = $1
      and g.stack = $2
      and g.program = $3
      and g.queue = $4
      and r.archived_at is null
      and r.state in ('waiting', 'running')
      and r.id >= $5::uuid
      and r.id < $6::uuid
      and r.owner = $7::uuid
      and r.state = 'running'
    limit $8
  ) r
  limit $8
) x;

-- count_some_runs, troubled · view/views.ts
-- Counts runs up to a bound.
select count(*)::int as n
from (
  select
  from "holdfast".claim_groups g
  cross join lateral (
    select
    from "holdfast".runs r
    where r.claim_group = g.id
      and g.env = $1
      and r.archived_at is null
      and r.state in ('failed', 'dead')
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = 1
      and r.ended_at is not null
    limit $2
  ) r
  limit $2
) x;

-- count_some_runs, archived · view/views.ts
-- Counts runs up to a bound.
select count(*)::int as n
from (
  select
  from "holdfast".claim_groups g
  cross join lateral (
    select
    from "holdfast".runs r
    where r.claim_group = g.id
      and g.env = $1
      and r.archived_at is not null
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = 2
      and r.ended_at is not null
    limit $2
  ) r
  limit $2
) x;

-- count_some_runs, with attributes · view/views.ts
-- Counts runs up to a bound.
select count(*)::int as n
from (
  select
  from "holdfast".claim_groups g
  cross join lateral (
    select
    from "holdfast".runs r
    where r.claim_group = g.id
      and g.env = $1
      and r.archived_at is null
      and exists (
        select
        from "holdfast".run_attributes a
        where a.run_id = r.id and a.name = $2 and a.value = $3
      )
      and exists (
        select
        from "holdfast".run_attributes a
        where a.run_id = r.id and a.name = $4 and a.value = $5
      )
    limit $6
  ) r
  limit $6
) x;

-- count_some_runs, failed, with attributes · view/views.ts
-- Counts runs up to a bound.
select count(*)::int as n
from (
  select
  from "holdfast".claim_groups g
  cross join lateral (
    select
    from "holdfast".runs r
    where r.claim_group = g.id
      and g.env = $1
      and g.program = $2
      and r.archived_at is null
      and r.state in ('failed')
      and exists (
        select
        from "holdfast".run_attributes a
        where a.run_id = r.id and a.name = $3 and a.value = $4
      )
      and exists (
        select
        from "holdfast".run_attributes a
        where a.run_id = r.id and a.name = $5 and a.value = $6
      )
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = 1
      and r.ended_at is not null
    limit $7
  ) r
  limit $7
) x;

-- count_some_runs, with a key · view/views.ts
-- Counts runs up to a bound.
select count(*)::int as n
from (
  select
  from "holdfast".claim_groups g
  cross join lateral (
    select
    from "holdfast".runs r
    where r.claim_group = g.id
      and g.env = $1
      and g.program = $2
      and r.archived_at is null
      and r.id = any (
        array (
          select k.run_id
          from "holdfast".run_keys k
          where k.env = $3
            and k.key collate "C" >= $4::text
            and k.key collate "C" < $5::text
            and starts_with(k.key, $6::text)
        )
      )
    limit $7
  ) r
  limit $7
) x;

-- count_some_runs, deferred · view/views.ts
-- Counts runs up to a bound.
select count(*)::int as n
from (
  select
  from "holdfast".claim_groups g
  cross join lateral (
    select
    from "holdfast".runs r
    where r.claim_group = g.id
      and g.env = $1
      and r.archived_at is null
      and r.id = any (array (select f.run_id from "holdfast".deferred_runs f))
    limit $2
  ) r
  limit $2
) x;

-- count_some_runs, of a parent · view/views.ts
-- Counts runs up to a bound.
select count(*)::int as n
from (
  select
  from "holdfast".claim_groups g
  cross join lateral (
    select
    from "holdfast".runs r
    where r.claim_group = g.id
      and g.env = $1
      and r.archived_at is null
      and r.parent_id = $2::uuid
      and r.id = any (
        array (
          select j.key::uuid
          from "holdfast".journal j
          where j.run_id = $2::uuid and j.kind in ('enqueue', 'task')
        )
      )
    limit $3
  ) r
  limit $3
) x;

-- create_instances · machine/machine-sql.ts
-- Creates instances of state machines with their first events, timers and effects.
with t as materialized (select clock_timestamp() as now),
ok as (
  insert into "holdfast".instances (
    key, claim_group, seq, snapshot_seq, id, input_hash, redact, status, version, value, codec, data,
      created_at, updated_at, ended_at
  )
  select c.key, c.claim_group, c.n, c.n, c.id, c.input_hash, c.redact, c.status, c.version, c.value,
    c.codec, c.data, t.now, t.now, case when c.status <> 'active' then t.now end
  from unnest(
    (select $1::uuid[]), (select $2::int[]), (select $3::uuid[]), (select $4::bigint[]), (select $5::int[]),
      (select $6::text[]), (select $7::text[]), (select $8::text[]), (select $9::text[]),
      (select $10::text[]), (select $11::text[]), (select $12::text[]), (select $13::text[])
  ) as c(key, claim_group, token, base, n, id, input_hash, redact, status, version, value, codec, data),
    t
  order by c.key
  on conflict do nothing
  returning key
),
events as (
  insert into "holdfast".instance_events (instance, seq, token, kind, name, key, codec, data, by, at)
  select ($1::uuid[])[e.ord], ($4::bigint[])[e.ord] + e.i, ($3::uuid[])[e.ord], e.kind, e.name, e.key,
    e.codec, e.data, e.by, t.now
  from unnest(
    (select $14::int[]), (select $15::int[]), (select $16::text[]), (select $17::text[]),
      (select $18::text[]), (select $19::text[]), (select $20::text[]), (select $21::text[])
  ) as e(ord, i, kind, name, key, codec, data, by),
    t
  where ((($1::uuid[])[e.ord] in (select key from ok)) is not false)
),
timers as (
  insert into "holdfast".timers (
    id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at
  )
  select x.id, ($1::uuid[])[x.ord], ($2::int[])[x.ord], x.generation, x.kind, x.name, x.codec, x.data,
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond',
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond'
  from unnest(
    (select $22::int[]), (select $23::uuid[]), (select $24::bigint[]), (select $25::text[]),
      (select $26::text[]), (select $27::text[]), (select $28::text[]), (select $29::float8[])
  ) with ordinality as x (ord, id, generation, kind, name, codec, data, delay_ms, position),
    t
  where ((($1::uuid[])[x.ord] in (select key from ok)) is not false)
  on conflict do nothing
),
sent as (
  insert into "holdfast".timers (
    id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at
  )
  select x.id, x.instance,
    coalesce(
      (select i.claim_group from "holdfast".instances i where i.key = x.instance limit 1), x.claim_group
    ),
    x.generation, 'sent', x.name, x.codec, x.data,
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond',
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond'
  from unnest(
    (select $30::int[]), (select $31::uuid[]), (select $32::bigint[]), (select $33::uuid[]),
      (select $34::int[]), (select $35::text[]), (select $36::text[]), (select $37::text[]),
      (select $38::float8[])
  ) with ordinality as x (ord, id, generation, instance, claim_group, name, codec, data, delay_ms, position),
    t
  where ((($1::uuid[])[x.ord] in (select key from ok)) is not false)
  on conflict do nothing
),
new as materialized (
  select *
  from unnest(
    (select $39::uuid[]), (select $40::int[]), (select $41::int[]), (select $42::float8[]),
      (select $43::int[]), (select $44::uuid[]), (select $45::text[]), (select $46::text[]),
      (select $47::text[]), (select $48::int[]), (select $49::text[]), (select $50::int[])
  ) as n(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, ord)
  where ((($1::uuid[])[n.ord] in (select key from ok)) is not false)
),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, 'waiting',
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, false,
    null, recovery
  from new, t
  on conflict do nothing
  returning id
),
j as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now
  from new, t
  where ((id in (select id from r)) is not false)
  on conflict do nothing
)
select key
from ok;

-- create_token · audit/tokens.ts
-- Stores a token by its hash.
with n as materialized (select clock_timestamp() as now),
made as (
  insert into "holdfast".tokens as t (id, hash, name, may, envs, groups, created_by, created_at, expires_at)
  select $1::uuid, $2, $3, $4::text[], $5::text[], $6::text[], $7, n.now,
    n.now + ($8::float8) * interval '1 millisecond'
  from n
  on conflict (id) do nothing
  returning t.*
)
select t.id, t.name, t.may, t.envs, t.groups, t.created_by as by,
  floor(extract(epoch from t.created_at) * 1000)::float8 as created_at,
  floor(extract(epoch from t.expires_at) * 1000)::float8 as expires_at,
  floor(extract(epoch from t.last_used_at) * 1000)::float8 as last_used_at,
  floor(extract(epoch from t.revoked_at) * 1000)::float8 as revoked_at
from made t
union all
select t.id, t.name, t.may, t.envs, t.groups, t.created_by as by,
  floor(extract(epoch from t.created_at) * 1000)::float8 as created_at,
  floor(extract(epoch from t.expires_at) * 1000)::float8 as expires_at,
  floor(extract(epoch from t.last_used_at) * 1000)::float8 as last_used_at,
  floor(extract(epoch from t.revoked_at) * 1000)::float8 as revoked_at
from "holdfast".tokens t
where t.id = $1::uuid;

-- dead_timeouts · timeout/timeouts.ts
-- Lists timeouts that were given up.
select o.env, o.scope, o.instance, o.generation, o.state, o.sequence::float8,
  floor(extract(epoch from o.deadline) * 1000)::float8 as deadline,
  floor(extract(epoch from o.created_at) * 1000)::float8 as "createdAt", o.attempts,
  o.claimed_by as "claimedBy", floor(extract(epoch from o.claimed_until) * 1000)::float8 as "claimedUntil",
  o.due_at is null as dead, o.problem
from "holdfast".timeouts o
where o.env = $1 and o.scope = $2 and o.due_at is null and o.instance > $3
order by o.instance
limit $4;

-- declare_programs · limit/program-limits.ts
-- Declares limits and recovery policy of a node's programs, and reports conflicts.
with d as materialized (
  select d.id, d.limits, d.recovery, d.cleans_up, n.incarnation, n.identity, n.started_at
  from "holdfast".nodes n,
    unnest(
      (select $2::int[]), (select $3::text[]), (select $4::text[]), (select $5::text[]), (select $6::bool[])
    ) as d(id, env, limits, recovery, cleans_up)
  where d.env = n.env
    and n.incarnation = $1::uuid
    and n.stopped_at is null
    and d.id = any (n.claims)
    and d.id = any (n.serves)
),
noted as (
  update "holdfast".nodes n
  set declared = x.declared
  from (
    select coalesce(jsonb_object_agg(d.id::text, md5(d.limits || ' ' || d.recovery)), '{}') as declared
    from d
  ) x
  where n.incarnation = $1::uuid and n.declared <> x.declared
),
was as materialized (
  select d.id, d.identity, g.limits <> d.limits as of_limits, g.recovery <> d.recovery as of_recovery,
    coalesce(n.identity, g.declared_by::text) as declarer,
    n.incarnation <> d.incarnation
      and (
        n.stopped_at is null
          and (
            n.seen_at < clock_timestamp() - (
              greatest(n.lease_ms, 3 * coalesce(n.heartbeat_ms, 5000))
            ) * interval '1 millisecond'
          ) is not true
          and g.id = any (n.claims)
      ) as stands
  from d
  join "holdfast".claim_groups g on g.id = d.id
  left join "holdfast".nodes n on n.incarnation = g.declared_by
  where (g.limits, g.recovery) is distinct from (d.limits, d.recovery)
),
l as materialized (
  select g.id
  from d
  join "holdfast".claim_groups g on g.id = d.id
  where (g.limits, g.recovery, g.cleans_up) is distinct from (d.limits, d.recovery, d.cleans_up)
    and (
      g.declared_by is null
        or (g.declared_start, g.declared_by) <= (d.started_at, d.incarnation)
        or exists (
          select
          from "holdfast".nodes n
          where n.incarnation = g.declared_by
            and not (
              n.stopped_at is null
                and (
                  n.seen_at < clock_timestamp() - (
                    greatest(n.lease_ms, 3 * coalesce(n.heartbeat_ms, 5000))
                  ) * interval '1 millisecond'
                ) is not true
                and g.id = any (n.claims)
            )
        )
    )
  order by g.id
  for no key update of g
),
changed as (
  update "holdfast".claim_groups g
  set limits = d.limits,
    recovery = d.recovery,
    cleans_up = d.cleans_up,
    declared_by = d.incarnation,
    declared_start = d.started_at
  from d
  where g.id = d.id and g.id = any (array (select id from l))
  returning g.id
)
select was.*, c.id is not null as changed
from was
left join changed c on c.id = was.id
where was.stands or c.id is null
order by array_position($2::int[], was.id);

-- declare_schedules · schedule/schedules.ts
-- Declares the schedules of a node's programs.
with t as materialized (
  select clock_timestamp() as now, date_trunc('milliseconds', clock_timestamp()) as whole
)
insert into "holdfast".schedules as s (
  id, env, stack, program, key, queue, version, spec, anchor, last_at, next_at, seen_at
)
select d.id, $1, $2, d.program, d.key, d.queue, d.version, d.spec, t.whole, t.whole, t.whole, t.now
from unnest(
  (select $3::text[]), (select $4::text[]), (select $5::uuid[]), (select $6::text[]), (select $7::text[]),
    (select $8::text[])
) as d(program, key, id, queue, version, spec),
  t
order by d.program, d.key
on conflict (env, stack, program, key) do update set queue = excluded.queue, version = excluded.version,
  spec = excluded.spec, seen_at = excluded.seen_at;

-- declare_subscriptions · event/subscriptions.ts
-- Declares the subscriptions of a node.
with new as materialized (
  select n.id, n.scope, n.stack, n.event, n.program, n.queue, n.version,
    array (
      select f
      from jsonb_array_elements(n.filters::jsonb) with ordinality as f (f, ord)
      order by ord
    ) as filters,
    n.subject, n.debounce_ms, n.lifetime, n.key_ms, n.crash_limit, n.threshold, n.half_open_ms
  from unnest(
    (select $4::text[]), (select $5::text[]), (select $6::text[]), (select $7::text[]), (select $8::text[]),
      (select $9::text[]), (select $10::text[]), (select $11::text[]), (select $12::text[]),
      (select $13::float8[]), (select $14::text[]), (select $15::float8[]), (select $16::int[]),
      (select $17::int[]), (select $18::float8[])
  ) as n(id, scope, stack, event, program, queue, version, filters, subject, debounce_ms, lifetime, key_ms, crash_limit, threshold, half_open_ms)
),
written as (
  insert into "holdfast".subscriptions as s (
    env, id, scope, stack, event, program, queue, version, filters, subject, debounce_ms, lifetime, key_ms,
      crash_limit, threshold, half_open_ms
  )
  select $1, id, scope, stack, event, program, queue, version, filters, subject, debounce_ms, lifetime,
    key_ms, crash_limit, threshold, half_open_ms
  from new
  order by id
  on conflict (env, id) do update set scope = excluded.scope, stack = excluded.stack,
    event = excluded.event, program = excluded.program, queue = excluded.queue, version = excluded.version,
    filters = excluded.filters, subject = excluded.subject, debounce_ms = excluded.debounce_ms,
    lifetime = excluded.lifetime, key_ms = excluded.key_ms, crash_limit = excluded.crash_limit,
    threshold = excluded.threshold, half_open_ms = excluded.half_open_ms
  where $3 and row(s.*) is distinct from row(excluded.*)
)
insert into "holdfast".subscribers (env, subscription, incarnation)
select $1, id, $2::uuid
from new
order by id
on conflict do nothing;

-- delete_keys · key/run-keys.ts
-- Frees keys whose runs no longer need them.
with w as (select * from unnest((select $1::uuid[]), (select $2::uuid[])) as w (hash, run_id)),
l as materialized (
  select k.hash
  from "holdfast".run_keys k
  join w using (hash, run_id)
  order by 1
  for update of k
)
delete from "holdfast".run_keys k using l
where k.hash = l.hash;

-- draw_presence · node/attend.ts
-- Draws the number of a node's session lock.
select (hashtext($1) # nextval('"holdfast".presence')::int) & 2147483647 as n;

-- drop_subscriptions · event/subscriptions.ts
-- Withdraws what an earlier start of a node declared and this one does not.
delete from "holdfast".subscribers
where env = $1 and incarnation = $2::uuid and subscription <> all ($3::text[]);

-- due_schedules · schedule/schedules.ts
-- Reads schedules that are due, and says when to look again.
with t as materialized (select clock_timestamp() as now),
mine as materialized (
  select s.*
  from unnest((select $1::uuid[])) as w (id)
  cross join lateral (
    select *
    from "holdfast".schedules s
    where s.id = w.id and s.paused_at is null
    limit 1
  ) s
)
select floor(extract(epoch from t.now) * 1000)::float8 as now, x.*,
  (
    select ceil(extract(epoch from min(next_at) - (select now from t)) * 1000)::float8
    from mine
    where next_at > (select now from t)
  ) as next_ms
from t
left join lateral (
  select s.id,
    json_build_object(
      'env', s.env, 'stack', nullif(s.stack, ''), 'queue', s.queue, 'program', s.program, 'version',
        nullif(s.version, '')
    ) as "group",
    s.key, s.spec, floor(extract(epoch from s.anchor) * 1000)::float8 as anchor,
    floor(extract(epoch from s.last_at) * 1000)::float8 as last,
    floor(extract(epoch from s.next_at) * 1000)::float8 as next,
    floor(extract(epoch from s.seen_at) * 1000)::float8 as "seenAt",
    case
      when s.paused_at is not null then json_build_object(
        'at', floor(extract(epoch from s.paused_at) * 1000)::float8, 'by', s.paused_by
      ) end as paused
  from mine s
  where s.next_at <= t.now
) x on true
order by x.id;

-- enable_definition · definition/definitions.ts
-- Enables or disables a definition.
with changed as (
  update "holdfast".definitions
  set enabled = $4, by = $5, at = clock_timestamp()
  where env = $1 and kind = $2 and name = $3 and enabled <> $4
)
select version
from "holdfast".definitions
where env = $1 and kind = $2 and name = $3;

-- end_claims · node/nodes.ts
-- Ends the leases of what earlier incarnations of a node held, for an operator to decide.
with l as materialized (
  select r.id
  from "holdfast".runs r
  where r.state = 'running' and r.owner = any ($1::uuid[]) and r.lease_until > (select clock_timestamp())
  order by r.id
  for no key update skip locked
)
update "holdfast".runs r
set lease_until = clock_timestamp()
where r.id = any (array (select id from l)) and r.token is not null;

-- end_crashed_task · claim/reclaimed.ts
-- Ends a task that has crashed too often, or whose recovery policy is to fail.
with t as materialized (select clock_timestamp() as now, set_config('lock_timeout', '300', true) as patience),
waiters as materialized (
  select distinct x.id
  from (select $1::uuid) as e (run_id)
  cross join lateral (
    select r.parent_id as id
    from "holdfast".runs r
    where r.id = e.run_id and r.counts and r.parent_id is not null
    union all
    select n.run_id
    from "holdfast".run_needs n
    where n.need_id = e.run_id
  ) x
),
turn as materialized (
  select r.id
  from "holdfast".runs r
  where r.id = any (array (select id from waiters)) and (select patience from t) is not null
  order by r.id
  for no key update
),
l as materialized (
  select id, owner, lease_until
  from "holdfast".runs
  where id = $1
    and epoch = $2
    and token is not null
    and counts
    and (crashes >= crash_limit or $4 = 'failed')
    and (lease_until <= (select now from t) or $3::bool)
    and (select count(*) from turn) >= 0
  for no key update skip locked
),
ended_task as (
  update "holdfast".runs r
  set state = $4::text,
    seq = r.seq + 1,
    crashes = $6::int,
    ended_at = t.now,
    counts = false,
    token = null,
    owner = null,
    lease_until = null
  from l, t
  where r.id = l.id
    and r.epoch = $2
    and r.token is not null
    and r.counts
    and (r.crashes >= r.crash_limit or $4 = 'failed')
    and (r.lease_until <= t.now or $3::bool)
  returning r.id as run_id, r.state, r.state as verdict, r.seq, r.crashes, r.parent_id, l.owner, r.epoch,
    l.lease_until, true as counted, 0 as losses
),
ended as (select run_id, parent_id, state, true as counted from ended_task),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, verdict, '', 'json',
    case verdict
      when 'failed' then '{"name":"RunOrphaned","message":"The node that worked on this run died, and its recovery policy is to fail.","code":"ORPHANED","details":{"previousOwner":"' || owner || '"}}'
      else '{"code":"CRASH_LIMIT","crashes":' || crashes || ',"holders":[' || (
        select string_agg(
          '{"epoch":' || h.epoch || ',"incarnation":"' || h.owner || '","node":' || coalesce(
            (select to_json(n.name)::text from "holdfast".nodes n where n.incarnation = h.owner), 'null'
          ) || '}',
            ','
          order by h.epoch
        )
        from (
          (
            select k.epoch, k.owner
            from "holdfast".reclaimed_claims k
            where k.run_id = ended_task.run_id
              and k.epoch < ended_task.epoch
              and k.counted
              and not coalesce(
                (
                  select n.seen_at > k.at
                  from "holdfast".nodes n
                  where n.incarnation = k.owner and n.lease_ms is not null
                  limit 1
                ),
                  false
              )
            order by k.epoch desc
            limit least(ended_task.crashes, 20) - 1
          )
          union all
          select ended_task.epoch, ended_task.owner
        ) h
      ) || ']}' end,
    t.now
  from ended_task, t
),
noted as (
  insert into "holdfast".reclaimed_claims (run_id, epoch, owner, by, outcome, at, counted, losses)
  select run_id, epoch, owner, $5::uuid, verdict, t.now, counted, losses
  from ended_task, t
  on conflict do nothing
),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
),
fed as materialized (
  select x.id, count(*)::int as n
  from ended e
  cross join lateral (
    select e.parent_id as id
    where e.parent_id is not null
    union all
    select n.run_id
    from "holdfast".run_needs n
    where n.need_id = e.run_id
  ) x
  where e.counted and true
  group by x.id
),
up as (
  update "holdfast".runs r
  set pending = greatest(r.pending - u.n, 0),
    state = case when r.pending <= u.n and r.state in ('blocked', 'parked') then 'waiting' else r.state end,
    available_at = case
      when r.pending <= u.n
        and r.state in ('blocked', 'parked') then t.now + (u.ord - 1) * interval '1 microsecond'
      else r.available_at end,
    wake_at = case when r.pending <= u.n and r.state in ('blocked', 'parked') then null else r.wake_at end
  from unnest(
    array (select id from fed order by id), array (select n from fed order by id)
  ) with ordinality as u (id, n, ord),
    t
  where r.id = u.id
  returning r.id, r.claim_group, r.state
)
select run_id, verdict, owner, epoch, crashes,
  floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  (
    select case when n.alone then null else n.lease_ms::float8 end
    from "holdfast".nodes n
    where n.incarnation = ended_task.owner
  ) as lease_ms,
  (select n.identity from "holdfast".nodes n where n.incarnation = ended_task.owner) as identity,
  (select n.name from "holdfast".nodes n where n.incarnation = ended_task.owner) as name,
  (select run_id from notified) as notified,
  (
    select jsonb_agg(jsonb_build_object('id', id, 'claim_group', claim_group, 'state', state))
    from up
    where state in ('waiting', 'held')
  ) as ready
from ended_task, t;

-- envs_with_runs · view/ends.ts
-- Lists the envs that have runs.
select distinct g.env
from "holdfast".claim_groups g
where exists (
  select
  from "holdfast".runs r
  where r.claim_group = g.id
    and r.ended_at is not null
    and r.state in ('completed', 'failed', 'dead', 'cancelled', 'skipped', 'quarantined')
)
  or exists (select from "holdfast".runs r where r.claim_group = g.id and r.state = 'waiting')
  or exists (
    select
    from "holdfast".runs r
    where r.claim_group = g.id and r.state in ('held', 'blocked', 'paused')
  )
  or g.id = any (
    array (select r.claim_group from "holdfast".runs r where r.state in ('running', 'parked') limit 10000)
  )
order by 1
limit 100;

-- expire_deferred · run/deferred-runs.ts
-- Cancels deferred runs that no node took in time.
with t as materialized (select clock_timestamp() as now),
due as materialized (
  select run_id, by
  from "holdfast".deferred_runs f
  where f.pending
    and f.expires_at <= (select clock_timestamp())
    and exists (
      select
      from "holdfast".runs r
      join "holdfast".claim_groups g on g.id = r.claim_group
      where r.id = f.run_id and g.env = $2
    )
  order by f.expires_at, f.run_id
  limit $1
  for no key update skip locked
),
l as materialized (
  select r.id, r.state
  from "holdfast".runs r
  where r.id = any (array (select run_id from due))
  order by r.id
  for no key update skip locked
),
free_limits as materialized (
  select l.run_id, l.stage
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from l))
  for no key update skip locked
),
free_mail as materialized (
  select i.run_id, i.key
  from "holdfast".inbox i
  where i.run_id = any (array (select id from l))
  for no key update skip locked
),
stuck as materialized (
  select l.run_id
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from l))
    and ((l.run_id, l.stage) not in (select run_id, stage from free_limits)) is not false
  union
  select i.run_id
  from "holdfast".inbox i
  where i.run_id = any (array (select id from l))
    and ((i.run_id, i.key) not in (select run_id, key from free_mail)) is not false
),
cancelled as (
  update "holdfast".runs r
  set state = 'cancelled', seq = r.seq + 1, wake_at = null, ended_at = t.now
  from l, t
  where r.id = l.id
    and l.state <> 'running'
    and l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not r.counts
    and not ((l.id in (select run_id from stuck)) is not false)
  returning r.id as run_id, r.seq, r.parent_id, r.state, r.limited, r.claim_group
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'cancelled', '', 'json',
    '{"code":"DEFERRED_EXPIRED","message":"No node took it in time. Start a node in full mode that serves its program in its stack, and start it again."}',
    t.now
  from cancelled, t
),
closed_deferrals as (
  update "holdfast".deferred_runs f
  set pending = false
  where f.run_id = any (
    array (select id from l where not ((l.id in (select run_id from stuck)) is not false))
  )
    and f.pending
),
ended as (select run_id, parent_id, state, false as counted from cancelled),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
)
select c.run_id, c.limited, g.program, nullif(g.stack, '') as stack, due.by, null::uuid as notified
from cancelled c
join due using (run_id)
cross join lateral (select program, stack from "holdfast".claim_groups g where g.id = c.claim_group limit 1) g
union all
select null, null, null, null, null, run_id
from notified;

-- expired_timeouts · timeout/timeouts.ts
-- Reads timeouts that are due, and says when to look again.
with t as materialized (select clock_timestamp() as now)
select x.*,
  (
    select ceil(extract(epoch from n.due_at - (select now from t)) * 1000)::float8
    from "holdfast".timeouts n
    where n.env = $1 and n.scope = $2 and n.due_at > (select now from t)
    order by n.due_at
    limit 1
  ) as next_ms
from t
left join lateral (
  select o.env, o.scope, o.instance, o.generation, o.state, o.sequence::float8,
    floor(extract(epoch from o.deadline) * 1000)::float8 as deadline,
    floor(extract(epoch from o.created_at) * 1000)::float8 as "createdAt", o.attempts,
    o.claimed_by as "claimedBy", floor(extract(epoch from o.claimed_until) * 1000)::float8 as "claimedUntil",
    o.due_at is null as dead, o.problem, o.due_at
  from "holdfast".timeouts o
  where o.env = $1 and o.scope = $2 and o.due_at <= (select now from t)
  order by o.due_at, o.instance
  limit $3
) x on true
order by x.due_at, x.instance;

-- find_definition · definition/definitions.ts
-- Reads one definition.
select version, body
from "holdfast".definitions
where env = $1 and kind = $2 and name = $3;

-- find_keys · key/run-keys.ts
-- Finds out which runs hold keys, and whether these keys are free again.
select k.run_id, k.payload_hash, o.id is not null as present,
  case k.lifetime
    when 'timed' then k.expires_at <= clock_timestamp()
    when 'live' then coalesce(r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead'), true)
    else r.state is null or r.archived_at is not null end as stale
from unnest((select $1::uuid[]), (select $2::uuid[])) with ordinality as w (hash, id, ord)
left join lateral (select id from "holdfast".runs o where o.id = w.id limit 1) o on true
left join lateral (select * from "holdfast".run_keys k where k.hash = w.hash limit 1) k on true
left join lateral (select state, archived_at from "holdfast".runs r where r.id = k.run_id limit 1) r on true
order by w.ord;

-- find_orphans · claim/recover-runs.ts
-- Lists runs whose lease has expired for a given time.
select r.id as "runId",
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.owner, r.epoch::float8, r.crashes, r.crash_limit as "crashLimit",
  floor(extract(epoch from clock_timestamp() - r.lease_until) * 1000)::float8 as "expiredForMs",
  coalesce(r.recovery, g.recovery) as recovery
from "holdfast".runs r
cross join lateral (select * from "holdfast".claim_groups g where g.id = r.claim_group limit 1) g
where r.state = 'running'
  and r.lease_until <= (select clock_timestamp()) - ($1::float8) * interval '1 millisecond'
  and ($2::text is null or g.env = $2)
  and ($3::text is null or g.stack in ($3, ''))
  and ($4::uuid is null or r.id > $4)
order by r.id
limit $5;

-- find_run_of_key · key/run-keys.ts
-- Finds the run that was started under a key.
select r.id
from "holdfast".run_keys k
cross join lateral (select r.id from "holdfast".runs r where r.id = k.run_id limit 1) r
where k.hash = $1;

-- find_runs_with_tasks · task/leave-tasks.ts
-- Finds the runs of a retry from the start whose tasks still work.
select r.id
from unnest((select $1::uuid[])) as w (id)
cross join lateral (
  select id
  from "holdfast".runs r
  where r.id = w.id
    and r.state in ('failed', 'dead', 'quarantined')
    and r.pending > 0
    and not coalesce(
      (
        select true
        from "holdfast".journal n
        where n.run_id = r.parent_id and n.kind = 'task' and n.key = r.id::text
        limit 1
      ),
        false
    )
  limit 1
) r
order by 1;

-- find_schedules · schedule/schedules.ts
-- Reads the ids of declared schedules.
select s.id
from unnest((select $3::text[]), (select $4::text[])) with ordinality as d (program, key, ord)
join "holdfast".schedules s on (s.env, s.stack, s.program, s.key) = ($1, $2, d.program, d.key)
order by d.ord;

-- finish_lease · lease/leases.ts
-- Ends a lease as done or failed.
with done as (
  update "holdfast".leases
  set state = $5, detail = $6, token = null, finished_token = $4, finished_at = clock_timestamp()
  where env = $1 and key = $2 and epoch = $3 and token = $4 and state = 'claimed'
  returning key
)
select key
from done
union all
select key
from "holdfast".leases
where env = $1 and key = $2 and epoch = $3 and finished_token = $4 and state = $5;

-- fire_schedules · schedule/fire-schedules.ts
-- Moves schedules to their next time and inserts the runs of this one.
with t as materialized (select clock_timestamp() as now),
locked as materialized (
  select s.id
  from unnest((select $34::uuid[]), (select $35::float8[])) as f (id, seen)
  cross join lateral (
    select s.id
    from "holdfast".schedules s
    where s.id = f.id and s.last_at = to_timestamp(f.seen / 1000) and s.paused_at is null
    limit 1
    for no key update skip locked
  ) s
),
moved as (
  update "holdfast".schedules s
  set last_at = to_timestamp(f.last / 1000), next_at = to_timestamp(f.next / 1000)
  from unnest(
    (select $34::uuid[]), (select $35::float8[]), (select $36::float8[]), (select $37::float8[])
  ) as f(id, seen, last, next)
  where s.id = f.id
    and s.last_at = to_timestamp(f.seen / 1000)
    and s.paused_at is null
    and ((f.id in (select id from locked)) is not false)
  returning s.id
),
tried as (
  insert into "holdfast".breaker_probes (env, program, opening, n, run_id, at)
  select p.env, p.program, p.opening, p.n, p.run_id, t.now
  from unnest(
    (select $38::uuid[]), (select $39::uuid[]), (select $40::text[]), (select $41::text[]),
      (select $42::text[]), (select $43::int[])
  ) as p(run_id, schedule_id, env, program, opening, n),
    t
  where ((p.schedule_id in (select id from moved)) is not false)
  order by 1, 2, 3, 4
  on conflict do nothing
  returning run_id
),
asked as materialized (
  select *
  from unnest(
    (select $1::uuid[]), (select $2::int[]), (select $3::int[]), (select $4::float8[]), (select $5::int[]),
      (select $6::uuid[]), (select $7::text[]), (select $8::text[]), (select $9::text[]), (select $10::int[]),
      (select $11::text[]), (select $12::uuid[]), (select $13::text[]), (select $14::text[]),
      (select $15::text[]), (select $16::text[]), (select $17::text[]), (select $18::float8[]),
      (select $19::bool[])
  ) as n(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, key_hash, env, scope, key, payload_hash, lifetime, key_ms, limited)
),
k as (
  insert into "holdfast".run_keys (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
  select key_hash, env, scope, key, id, payload_hash, lifetime, t.now + (key_ms) * interval '1 millisecond'
  from asked, t
  where (select r.id from "holdfast".runs r where r.id = asked.id limit 1) is null
    and ((($33::uuid[])[asked.position + 1] in (select id from moved)) is not false)
    and (
      not ((asked.id in (select unnest($38::uuid[]))) is not false)
        or ((asked.id in (select run_id from tried)) is not false)
    )
  order by key_hash, position
  on conflict do nothing
  returning run_id
),
new as materialized (select * from asked where ((id in (select run_id from k)) is not false)),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, case when limited then 'held' else 'waiting' end,
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, limited,
    key_hash, recovery
  from new, t
  on conflict do nothing
  returning id
),
l as (
  insert into "holdfast".run_limits (
    run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at
  )
  select ($1::uuid[])[l.run], l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case l.stage when 1 then 'waits' else 'later' end,
    case l.kind when 'serial' then 0 else ($3::int[])[l.run] end,
    t.now + (($4::float8[])[l.run] + ($10::int[])[l.run] * 0.001) * interval '1 millisecond'
  from unnest(
    (select $20::int[]), (select $21::int[]), (select $22::text[]), (select $23::text[]),
      (select $24::int[]), (select $25::float8[]), (select $26::text[])
  ) as l(run, stage, key, kind, max, per_ms, overflow),
    t
  where ((($1::uuid[])[l.run] in (select id from r)) is not false)
),
f as (
  insert into "holdfast".deferred_runs (run_id, by, expires_at)
  select ($1::uuid[])[f.run], f.by, t.now + (($4::float8[])[f.run] + f.expires_ms) * interval '1 millisecond'
  from unnest((select $27::int[]), (select $28::text[]), (select $29::float8[])) as f (run, by, expires_ms), t
  where ((($1::uuid[])[f.run] in (select id from r)) is not false)
),
a as (
  insert into "holdfast".run_attributes (run_id, name, value, claim_group)
  select ($1::uuid[])[a.run], a.name, a.value, ($2::int[])[a.run]
  from unnest((select $30::int[]), (select $31::text[]), (select $32::text[])) as a (run, name, value)
  where ((($1::uuid[])[a.run] in (select id from r)) is not false)
),
j as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now
  from new, t
  where ((id in (select id from r)) is not false)
  on conflict do nothing
)
select 'moved' as what, id
from moved
union all
select 'run', run_id
from k
union all
select 'there', r.id
from unnest((select $1::uuid[])) as w (id)
cross join lateral (select r.id from "holdfast".runs r where r.id = w.id limit 1) r;

-- gather_events · event/debounce-events.ts
-- Stores debounced events and inserts one run for each new subject.
with t as materialized (select clock_timestamp() as now),
asked as materialized (
  select *
  from unnest(
    (select $1::uuid[]), (select $2::int[]), (select $3::int[]), (select $4::float8[]), (select $5::int[]),
      (select $6::uuid[]), (select $7::text[]), (select $8::text[]), (select $9::text[]), (select $10::int[]),
      (select $11::text[]), (select $12::bool[]), (select $13::text[]), (select $14::text[]),
      (select $15::text[]), (select $16::text[])
  ) as n(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, limited, env, subscription, subject, ticket)
  where (select r.id from "holdfast".runs r where r.id = n.id limit 1) is null
),
g as (
  insert into "holdfast".debounces as d (env, subscription, subject, run_id, last_at, codec, data)
  select env, subscription, subject, id, t.now, codec, data
  from asked, t
  order by env, subscription, subject
  on conflict (env, subscription, subject) do update set last_at = excluded.last_at, codec = excluded.codec,
    data = excluded.data,
    run_id = case
      when coalesce(
        (
          select r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
          from "holdfast".runs r
          where r.id = d.run_id
        ),
          d.last_at <= excluded.last_at - (60000) * interval '1 millisecond'
      ) then excluded.run_id
      else d.run_id end
  returning env, subscription, subject, run_id
),
new as materialized (select * from asked where ((id in (select run_id from g)) is not false)),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, case when limited then 'held' else 'waiting' end,
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, limited,
    null, recovery
  from new, t
  on conflict do nothing
  returning id
),
l as (
  insert into "holdfast".run_limits (
    run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at
  )
  select ($1::uuid[])[l.run], l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case l.stage when 1 then 'waits' else 'later' end,
    case l.kind when 'serial' then 0 else ($3::int[])[l.run] end,
    t.now + (($4::float8[])[l.run] + ($10::int[])[l.run] * 0.001) * interval '1 millisecond'
  from unnest(
    (select $17::int[]), (select $18::int[]), (select $19::text[]), (select $20::text[]),
      (select $21::int[]), (select $22::float8[]), (select $23::text[])
  ) as l(run, stage, key, kind, max, per_ms, overflow),
    t
  where ((($1::uuid[])[l.run] in (select id from r)) is not false)
),
f as (
  insert into "holdfast".deferred_runs (run_id, by, expires_at)
  select ($1::uuid[])[f.run], f.by, t.now + (($4::float8[])[f.run] + f.expires_ms) * interval '1 millisecond'
  from unnest((select $24::int[]), (select $25::text[]), (select $26::float8[])) as f (run, by, expires_ms), t
  where ((($1::uuid[])[f.run] in (select id from r)) is not false)
),
a as (
  insert into "holdfast".run_attributes (run_id, name, value, claim_group)
  select ($1::uuid[])[a.run], a.name, a.value, ($2::int[])[a.run]
  from unnest((select $27::int[]), (select $28::text[]), (select $29::text[])) as a (run, name, value)
  where ((($1::uuid[])[a.run] in (select id from r)) is not false)
),
j as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, key, codec, data, at)
  select id, 1, 0, 'start', name, ticket, codec, data, t.now
  from new, t
  on conflict do nothing
)
select env, subscription, subject, run_id
from g;

-- get_kept_value · kept/kept.ts
-- Reads one kept value that has not expired.
select v.key, v.codec, v.data, floor(extract(epoch from v.at) * 1000)::float8 as at,
  floor(extract(epoch from v.until) * 1000)::float8 as until
from "holdfast".kept_values v
where v.env = $1 and v.space = $2 and v.key = $3 and (v.until is null or v.until > clock_timestamp());

-- get_lease · lease/leases.ts
-- Reads one lease.
select l.env, l.key, l.owner, l.epoch::float8, coalesce(l.token::text, l.finished_token::text, '') as token,
  l.attempt,
  case
    when l.state = 'claimed' and l.lease_until <= clock_timestamp() then 'expired'
    else l.state end as state,
  floor(extract(epoch from l.lease_until) * 1000)::float8 as "leaseUntil",
  floor(extract(epoch from l.acquired_at) * 1000)::float8 as "acquiredAt",
  floor(extract(epoch from l.finished_at) * 1000)::float8 as "finishedAt", l.detail
from "holdfast".leases l
where l.env = $1 and l.key = $2;

-- get_run · run/list-runs.ts
-- Reads one run.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
where r.id = $1;

-- get_runs · view/views.ts
-- Reads several runs, with the clock.
with t as materialized (select clock_timestamp() as now)
select floor(extract(epoch from t.now) * 1000)::float8 as now, x.*
from t
left join lateral (
  select w.ord::int, r.*
  from unnest((select $1::uuid[])) with ordinality as w (id, ord)
  cross join lateral (
    select r.id,
      json_build_object(
        'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
          nullif(g.version, '')
      ) as "group",
      r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
      floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
      floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
      r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
      r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
      k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
      floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
      floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
    from "holdfast".runs r
    join "holdfast".claim_groups g on g.id = r.claim_group
    left join lateral (
      select json_build_object(
        'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy',
          f.taken_by, 'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
      ) as deferred
      from "holdfast".deferred_runs f
      where f.run_id = r.id
      limit 1
    ) f on true
    left join lateral (
      select json_object_agg(a.name, a.value::json) as attributes
      from "holdfast".run_attributes a
      where a.run_id = r.id
    ) a on true
    left join lateral (
      select json_build_object(
        'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
      ) as misfit
      where r.misfits is not null
    ) x on true
    cross join lateral (
      select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
      from "holdfast".reclaimed_claims k
      where k.run_id = r.id
    ) k
    where r.id = w.id
    limit 1
  ) r
) x on true;

-- get_timeout · timeout/timeouts.ts
-- Reads the timeout of an instance.
select o.env, o.scope, o.instance, o.generation, o.state, o.sequence::float8,
  floor(extract(epoch from o.deadline) * 1000)::float8 as deadline,
  floor(extract(epoch from o.created_at) * 1000)::float8 as "createdAt", o.attempts,
  o.claimed_by as "claimedBy", floor(extract(epoch from o.claimed_until) * 1000)::float8 as "claimedUntil",
  o.due_at is null as dead, o.problem
from "holdfast".timeouts o
where o.env = $1 and o.scope = $2 and o.instance = $3;

-- glance_runs · journal/peek-journals.ts
-- Reads state and short end of several runs.
select w.ord::int, r.state, r.seq as run_seq, r.misfits, j.seq, j.epoch, j.kind, j.name, j.key, j.codec,
  j.data, floor(extract(epoch from j.at) * 1000)::float8 as at
from unnest((select $1::uuid[])) with ordinality as w (id, ord)
cross join lateral (select state, seq, misfits from "holdfast".runs r where r.id = w.id limit 1) r
left join lateral (
  select *
  from "holdfast".journal j
  where j.run_id = w.id and j.seq = case
    when r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead') then r.seq end
      and coalesce(octet_length(j.data), 0) <= 2000
  limit 1
) j on true;

-- group_dead_letters, of an env · view/dead-letters.ts
-- Counts the last dead letters by program, state and error code.
with letters as materialized (
  select r.id, r.state, r.ended_at, r.seq, g.program
  from "holdfast".claim_groups g
  cross join lateral (
    select r.id, r.state, r.ended_at, r.seq
    from "holdfast".runs r
    where r.claim_group = g.id
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = 1
      and r.ended_at is not null
      and r.state in ('failed', 'dead', 'quarantined')
    order by r.ended_at desc, r.id desc
    limit $2
  ) r
  where g.env = $1
  order by r.ended_at desc, r.id desc
  limit $2
),
read as materialized (select r.*, row_number() over (order by r.ended_at desc, r.id desc) as n from letters r)
select r.program, r.state, x.code, count(*)::int as n,
  floor(extract(epoch from max(r.ended_at)) * 1000)::float8 as newest,
  floor(extract(epoch from min(r.ended_at)) * 1000)::float8 as oldest,
  (array_agg(r.id order by r.n))[1:5] as examples, (select count(*) from letters)::int as looked
from read r
left join lateral (
  select *
  from "holdfast".journal j
  where j.run_id = r.id and j.seq = r.seq
  limit 1
) j on true
cross join lateral (
  select (
    case
      when j.codec = 'json'
        and j.data !~* '\\u(0000|d[89a-f])' then coalesce(
          j.data::json ->> 'code', j.data::json ->> 'name'
        ) end
  ) as code
) x
where r.n < $2
group by r.program, r.state, x.code
order by 4 desc, r.program collate "C", r.state collate "C", x.code collate "C";

-- heartbeat_node · node/nodes.ts
-- Notes that a node is alive.
update "holdfast".nodes
set seen_at = clock_timestamp()
where incarnation = $1 and stopped_at is null
returning incarnation;

-- hold_presence · node/attend.ts
-- Takes a node's session lock, which the server drops when the connection ends.
select pg_advisory_lock($1, $2);

-- housekeep · node/housekeep.ts
-- Asks, once a round, which parts of housekeeping have something to do.
with t as materialized (select clock_timestamp() as now),
here as materialized (
  select objid::bigint as presence
  from pg_locks
  where locktype = 'advisory'
    and classid = 1752132708
    and granted
    and database = (select oid from pg_database where datname = current_database())
),
mine as materialized (
  select incarnation
  from "holdfast".nodes
  where incarnation = $1 and stopped_at is null
  for no key update skip locked
),
beat as (
  update "holdfast".nodes n
  set seen_at = t.now,
    vitals = coalesce($7::jsonb, n.vitals),
    absent_since = case
      when n.presence is null or ((n.presence in (select presence from here)) is not false) then null
      else coalesce(n.absent_since, t.now) end
  from mine m, t
  where n.incarnation = m.incarnation
),
changed as materialized (
  select incarnation
  from "holdfast".nodes n
  where n.env = $2::text
    and n.stopped_at is null
    and n.presence is not null
    and n.incarnation <> $1
    and (n.absent_since is null) <> ((n.presence in (select presence from here)) is not false)
  for no key update skip locked
),
absent as (
  update "holdfast".nodes n
  set absent_since = case
    when ((n.presence in (select presence from here)) is not false) then null
    else coalesce(n.absent_since, t.now) end
  from changed c, t
  where n.incarnation = c.incarnation
),
missing as materialized (
  select n.incarnation, coalesce(n.absent_since, t.now) as since,
    greatest(
      n.seen_at,
        case
          when not n.alone then (
            select max(r.lease_until)
            from "holdfast".runs r
            where r.state = 'running' and r.owner = n.incarnation
          ) - (n.lease_ms) * interval '1 millisecond' end
    ) as seen_at,
    coalesce(n.presence_grace_ms, 1000) as grace,
    greatest(coalesce(n.presence_grace_ms, 1000), 2 * coalesce(n.heartbeat_ms, 5000)) as silence,
    n.seen_at > coalesce(n.absent_since, t.now) - (
      3 * coalesce(n.heartbeat_ms, 5000)
    ) * interval '1 millisecond' as sudden
  from "holdfast".nodes n, t
  where n.env = $2::text
    and n.stopped_at is null
    and n.presence is not null
    and not ((n.presence in (select presence from here)) is not false)
),
departing as materialized (
  select m.incarnation,
    greatest(
      m.since + (f.n * m.grace) * interval '1 millisecond',
        m.seen_at + (f.n * m.silence) * interval '1 millisecond',
        t.now + (f.n * m.grace - $3::float8) * interval '1 millisecond'
    ) as at
  from t
  cross join missing m
  cross join lateral (
    select count(*) as lost
    from missing o
    where o.sudden and abs(extract(epoch from o.since - m.since)) * 1000 <= m.silence
  ) a
  cross join lateral (
    select case
      when ($4::boolean and m.since <= t.now + (m.silence - $3::float8) * interval '1 millisecond')
        or pg_postmaster_start_time() > clock_timestamp() - (3 * m.silence) * interval '1 millisecond'
        or (
          a.lost >= 2
            and a.lost >= (
              select count(*)
              from "holdfast".nodes n
              where n.env = $2::text
                and n.stopped_at is null
                and n.presence is not null
                and ((n.presence in (select presence from here)) is not false)
            )
        ) then 3
      else 1 end as n
  ) f
),
gone as materialized (
  select incarnation
  from departing, t
  where at <= t.now
  union all
  select n.incarnation
  from "holdfast".nodes n, t
  where n.alone
    and n.env = $2::text
    and n.seen_at < t.now - (
      greatest(n.lease_ms, 3 * coalesce(n.heartbeat_ms, 5000))
    ) * interval '1 millisecond'
    and $3::float8 >= 3.5 * coalesce(n.heartbeat_ms, 1000)
)
select me.incarnation is not null as registered,
  coalesce(
    ((me.presence in (select presence from here)) is not false) and me.presence is not null, false
  ) as present,
  case
    when me.incarnation is not null then json_build_object(
      'mode', me.mode, 'overrides', me.overrides, 'drain', me.drain
    ) end as mode,
  exists (
    select
    from "holdfast".runs r
    where r.state = 'running'
      and (
        (
          r.lease_until <= t.now
            and $3::float8 >= 3.5 * coalesce(
              (select n.heartbeat_ms from "holdfast".nodes n where n.incarnation = r.owner), 1000
            )
        )
          or r.owner = any (array (select incarnation from gone))
      )
      and (select g.env from "holdfast".claim_groups g where g.id = r.claim_group) = $2::text
  ) as orphans,
  exists (select from "holdfast".runs r where r.state = 'parked' and r.wake_at <= (select now from t))
    or exists (select from "holdfast".inbox where taken_seq is null) as due,
  exists (
    select
    from "holdfast".deferred_runs
    where pending and expires_at <= (select now from t)
  ) as overdue,
  (
    select count(*)::int
    from "holdfast".nodes n
    join "holdfast".nodes m on m.incarnation = $1
    where n.env = m.env
      and n.claims && m.claims
      and (
        n.incarnation = m.incarnation
          or (
            n.stopped_at is null
              and not n.seen_at < (select now from t) - (
                greatest(n.lease_ms, 3 * coalesce(n.heartbeat_ms, 5000))
              ) * interval '1 millisecond'
              and (
                n.presence is null
                  or ((n.presence in (select presence from here)) is not false)
                  or coalesce(n.seen_at >= n.absent_since, false)
                  or (
                    pg_postmaster_start_time() > clock_timestamp() - interval '2 seconds'
                      and n.seen_at >= (select now from t) - (
                        3 * coalesce(n.heartbeat_ms, 5000)
                      ) * interval '1 millisecond'
                  )
              )
          )
      )
  ) as peers,
  array (
    select g.id
    from unnest($6::int[]) as g (id)
    where not exists (
      select
      from "holdfast".nodes n
      where n.env = $2::text
        and n.incarnation < $1
        and g.id = any (n.claims)
        and (
          n.stopped_at is null
            and not n.seen_at < (select now from t) - (
              greatest(n.lease_ms, 3 * coalesce(n.heartbeat_ms, 5000))
            ) * interval '1 millisecond'
            and (
              n.presence is null
                or ((n.presence in (select presence from here)) is not false)
                or coalesce(n.seen_at >= n.absent_since, false)
                or (
                  pg_postmaster_start_time() > clock_timestamp() - interval '2 seconds'
                    and n.seen_at >= (select now from t) - (
                      3 * coalesce(n.heartbeat_ms, 5000)
                    ) * interval '1 millisecond'
                )
            )
        )
    )
    order by g.id
  ) as first,
  array (
    select n.incarnation::text
    from gone g
    join "holdfast".nodes n using (incarnation)
    where n.seen_at > t.now - interval '1 minute'
    order by 1
  ) as gone,
  coalesce(
    (select min(m.look_at) from "holdfast".misfit_runs m where m.env = $2::text) <= t.now, false
  ) as misfits,
  case
    when $5::boolean then (
      select json_agg(json_build_object('runId', r.id, 'inboxSeq', r.inbox_seq))
      from "holdfast".runs r
      cross join lateral (
        select
        from "holdfast".inbox i
        where i.run_id = r.id and i.taken_seq is null
        limit 1
      ) i
      where r.state = 'running' and r.owner = $1
    ) end as called,
  exists (
    select
    from "holdfast".run_limits
    where state = 'waits' and available_at <= (select now from t)
  ) as held,
  ceil(
    extract(
      epoch
      from least(
        (
          select min(r.wake_at)
          from "holdfast".runs r
          where r.state = 'parked' and r.wake_at > (select now from t)
        ),
          (
            select min(l.available_at)
            from "holdfast".run_limits l
            where l.state = 'waits' and l.available_at > (select now from t)
          ),
          (select min(g.at) from departing g where g.at > (select now from t))
      ) - t.now
    ) * 1000
  )::float8 as next_wake_ms
from t
left join lateral (
  select *
  from "holdfast".nodes n
  where n.incarnation = $1 and n.stopped_at is null
) me on true;

-- insert_gathering · event/debounce-events.ts
-- Inserts one run for each debounced event, in the caller's transaction.
with t as materialized (select clock_timestamp() as now),
new as materialized (
  select *
  from unnest(
    (select $1::uuid[]), (select $2::int[]), (select $3::int[]), (select $4::float8[]), (select $5::int[]),
      (select $6::uuid[]), (select $7::text[]), (select $8::text[]), (select $9::text[]), (select $10::int[]),
      (select $11::text[]), (select $12::bool[]), (select $13::text[]), (select $14::text[]),
      (select $15::text[]), (select $16::text[])
  ) as n(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, limited, env, subscription, subject, ticket)
),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, case when limited then 'held' else 'waiting' end,
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, limited,
    null, recovery
  from new, t
  on conflict do nothing
  returning id
),
l as (
  insert into "holdfast".run_limits (
    run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at
  )
  select ($1::uuid[])[l.run], l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case l.stage when 1 then 'waits' else 'later' end,
    case l.kind when 'serial' then 0 else ($3::int[])[l.run] end,
    t.now + (($4::float8[])[l.run] + ($10::int[])[l.run] * 0.001) * interval '1 millisecond'
  from unnest(
    (select $17::int[]), (select $18::int[]), (select $19::text[]), (select $20::text[]),
      (select $21::int[]), (select $22::float8[]), (select $23::text[])
  ) as l(run, stage, key, kind, max, per_ms, overflow),
    t
  where ((($1::uuid[])[l.run] in (select id from r)) is not false)
),
f as (
  insert into "holdfast".deferred_runs (run_id, by, expires_at)
  select ($1::uuid[])[f.run], f.by, t.now + (($4::float8[])[f.run] + f.expires_ms) * interval '1 millisecond'
  from unnest((select $24::int[]), (select $25::text[]), (select $26::float8[])) as f (run, by, expires_ms), t
  where ((($1::uuid[])[f.run] in (select id from r)) is not false)
),
a as (
  insert into "holdfast".run_attributes (run_id, name, value, claim_group)
  select ($1::uuid[])[a.run], a.name, a.value, ($2::int[])[a.run]
  from unnest((select $27::int[]), (select $28::text[]), (select $29::text[])) as a (run, name, value)
  where ((($1::uuid[])[a.run] in (select id from r)) is not false)
),
j as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, key, codec, data, at)
  select id, 1, 0, 'start', name, ticket, codec, data, t.now
  from new, t
  on conflict do nothing
)
select null;

-- insert_groups · run/groups.ts
-- Numbers claim groups that have no number yet.
insert into "holdfast".claim_groups (env, stack, queue, program, version, id)
select *
from unnest(
  (select $1::text[]), (select $2::text[]), (select $3::text[]), (select $4::text[]), (select $5::text[]),
    (select $6::int[])
) as g(env, stack, queue, program, version, id)
order by 1, 2, 3, 4, 5
on conflict do nothing;

-- insert_keyed_runs · run/insert-keyed-runs.ts
-- Inserts runs with keys that are certainly new.
with t as materialized (select clock_timestamp() as now),
asked as materialized (
  select *
  from unnest(
    (select $1::uuid[]), (select $2::int[]), (select $3::int[]), (select $4::float8[]), (select $5::int[]),
      (select $6::uuid[]), (select $7::text[]), (select $8::text[]), (select $9::text[]), (select $10::int[]),
      (select $11::text[]), (select $12::uuid[]), (select $13::text[]), (select $14::text[]),
      (select $15::text[]), (select $16::text[]), (select $17::text[]), (select $18::float8[])
  ) as n(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, key_hash, env, scope, key, payload_hash, lifetime, key_ms)
),
k as (
  insert into "holdfast".run_keys (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
  select key_hash, env, scope, key, id, payload_hash, lifetime, t.now + (key_ms) * interval '1 millisecond'
  from asked, t
  order by key_hash, position
  on conflict do nothing
  returning run_id
),
new as materialized (select * from asked where ((id in (select run_id from k)) is not false)),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, 'waiting',
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, false,
    key_hash, recovery
  from new, t
),
j as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now
  from new, t
)
select run_id
from k;

-- insert_keyed_runs_again · run/insert-keyed-runs.ts
-- Inserts runs with keys of which some may be there already.
with t as materialized (select clock_timestamp() as now),
asked as materialized (
  select *
  from unnest(
    (select $1::uuid[]), (select $2::int[]), (select $3::int[]), (select $4::float8[]), (select $5::int[]),
      (select $6::uuid[]), (select $7::text[]), (select $8::text[]), (select $9::text[]), (select $10::int[]),
      (select $11::text[]), (select $12::uuid[]), (select $13::text[]), (select $14::text[]),
      (select $15::text[]), (select $16::text[]), (select $17::text[]), (select $18::float8[])
  ) as n(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, key_hash, env, scope, key, payload_hash, lifetime, key_ms)
),
k as (
  insert into "holdfast".run_keys (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
  select key_hash, env, scope, key, id, payload_hash, lifetime, t.now + (key_ms) * interval '1 millisecond'
  from asked, t
  where (select r.id from "holdfast".runs r where r.id = asked.id limit 1) is null
  order by key_hash, position
  on conflict do nothing
  returning run_id
),
new as materialized (select * from asked where ((id in (select run_id from k)) is not false)),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, 'waiting',
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, false,
    key_hash, recovery
  from new, t
  on conflict do nothing
  returning id
),
j as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now
  from new, t
  where ((id in (select id from r)) is not false)
  on conflict do nothing
)
select run_id
from k;

-- insert_limited_keyed_runs · run/insert-keyed-runs.ts
-- Inserts runs with keys of which some have limits or attributes, or are deferred.
with t as materialized (select clock_timestamp() as now),
asked as materialized (
  select *
  from unnest(
    (select $1::uuid[]), (select $2::int[]), (select $3::int[]), (select $4::float8[]), (select $5::int[]),
      (select $6::uuid[]), (select $7::text[]), (select $8::text[]), (select $9::text[]), (select $10::int[]),
      (select $11::text[]), (select $12::uuid[]), (select $13::text[]), (select $14::text[]),
      (select $15::text[]), (select $16::text[]), (select $17::text[]), (select $18::float8[]),
      (select $19::bool[])
  ) as n(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, key_hash, env, scope, key, payload_hash, lifetime, key_ms, limited)
),
k as (
  insert into "holdfast".run_keys (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
  select key_hash, env, scope, key, id, payload_hash, lifetime, t.now + (key_ms) * interval '1 millisecond'
  from asked, t
  where (select r.id from "holdfast".runs r where r.id = asked.id limit 1) is null
  order by key_hash, position
  on conflict do nothing
  returning run_id
),
new as materialized (select * from asked where ((id in (select run_id from k)) is not false)),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, case when limited then 'held' else 'waiting' end,
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, limited,
    key_hash, recovery
  from new, t
  on conflict do nothing
  returning id
),
l as (
  insert into "holdfast".run_limits (
    run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at
  )
  select ($1::uuid[])[l.run], l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case l.stage when 1 then 'waits' else 'later' end,
    case l.kind when 'serial' then 0 else ($3::int[])[l.run] end,
    t.now + (($4::float8[])[l.run] + ($10::int[])[l.run] * 0.001) * interval '1 millisecond'
  from unnest(
    (select $20::int[]), (select $21::int[]), (select $22::text[]), (select $23::text[]),
      (select $24::int[]), (select $25::float8[]), (select $26::text[])
  ) as l(run, stage, key, kind, max, per_ms, overflow),
    t
  where ((($1::uuid[])[l.run] in (select id from r)) is not false)
),
f as (
  insert into "holdfast".deferred_runs (run_id, by, expires_at)
  select ($1::uuid[])[f.run], f.by, t.now + (($4::float8[])[f.run] + f.expires_ms) * interval '1 millisecond'
  from unnest((select $27::int[]), (select $28::text[]), (select $29::float8[])) as f (run, by, expires_ms), t
  where ((($1::uuid[])[f.run] in (select id from r)) is not false)
),
a as (
  insert into "holdfast".run_attributes (run_id, name, value, claim_group)
  select ($1::uuid[])[a.run], a.name, a.value, ($2::int[])[a.run]
  from unnest((select $30::int[]), (select $31::text[]), (select $32::text[])) as a (run, name, value)
  where ((($1::uuid[])[a.run] in (select id from r)) is not false)
),
j as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now
  from new, t
  where ((id in (select id from r)) is not false)
  on conflict do nothing
)
select run_id
from k;

-- insert_limited_runs · run/insert-runs.ts
-- Inserts runs of which some have limits or attributes, or are deferred.
with t as materialized (select clock_timestamp() as now),
new as materialized (
  select *
  from (
    select u.id, coalesce(u.claim_group, ($2::int[])[0]) as claim_group,
      coalesce(u.priority, ($3::int[])[0]) as priority, coalesce(u.delay_ms, ($4::float8[])[0]) as delay_ms,
      coalesce(u.crash_limit, ($5::int[])[0]) as crash_limit,
      coalesce(u.parent_id, ($6::uuid[])[0]) as parent_id, coalesce(u.name, ($7::text[])[0]) as name,
      coalesce(u.codec, ($8::text[])[0]) as codec, coalesce(u.data, ($9::text[])[0]) as data,
      coalesce(u.position, ($10::int[])[0]) as position, coalesce(u.recovery, ($11::text[])[0]) as recovery,
      coalesce(u.limited, ($12::bool[])[0]) as limited
    from unnest(
      (select $1::uuid[]), (select $2::int[]), (select $3::int[]), (select $4::float8[]),
        (select $5::int[]), (select $6::uuid[]), (select $7::text[]), (select $8::text[]),
        (select $9::text[]), (select $10::int[]), (select $11::text[]), (select $12::bool[])
    ) as u(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery, limited)
  ) as n
),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, case when limited then 'held' else 'waiting' end,
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, limited,
    null, recovery
  from new, t
  on conflict do nothing
  returning id
),
l as (
  insert into "holdfast".run_limits (
    run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at
  )
  select ($1::uuid[])[l.run], l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case l.stage when 1 then 'waits' else 'later' end,
    case l.kind when 'serial' then 0 else coalesce(($3::int[])[l.run], ($3::int[])[0]) end,
    t.now + (
      coalesce(
        ($4::float8[])[l.run], ($4::float8[])[0]
      ) + coalesce(($10::int[])[l.run], ($10::int[])[0]) * 0.001
    ) * interval '1 millisecond'
  from unnest(
    (select $13::int[]), (select $14::int[]), (select $15::text[]), (select $16::text[]),
      (select $17::int[]), (select $18::float8[]), (select $19::text[])
  ) as l(run, stage, key, kind, max, per_ms, overflow),
    t
  where ((($1::uuid[])[l.run] in (select id from r)) is not false)
),
f as (
  insert into "holdfast".deferred_runs (run_id, by, expires_at)
  select ($1::uuid[])[f.run], f.by,
    t.now + (coalesce(($4::float8[])[f.run], ($4::float8[])[0]) + f.expires_ms) * interval '1 millisecond'
  from unnest((select $20::int[]), (select $21::text[]), (select $22::float8[])) as f (run, by, expires_ms), t
  where ((($1::uuid[])[f.run] in (select id from r)) is not false)
),
a as (
  insert into "holdfast".run_attributes (run_id, name, value, claim_group)
  select ($1::uuid[])[a.run], a.name, a.value, coalesce(($2::int[])[a.run], ($2::int[])[0])
  from unnest((select $23::int[]), (select $24::text[]), (select $25::text[])) as a (run, name, value)
  where ((($1::uuid[])[a.run] in (select id from r)) is not false)
)
insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
select id, 1, 0, 'start', name, codec, data, t.now
from new, t
where ((id in (select id from r)) is not false)
on conflict do nothing;

-- insert_runs · run/insert-runs.ts
-- Inserts runs that are certainly new.
with t as materialized (select clock_timestamp() as now),
new as materialized (
  select *
  from (
    select u.id, coalesce(u.claim_group, ($2::int[])[0]) as claim_group,
      coalesce(u.priority, ($3::int[])[0]) as priority, coalesce(u.delay_ms, ($4::float8[])[0]) as delay_ms,
      coalesce(u.crash_limit, ($5::int[])[0]) as crash_limit,
      coalesce(u.parent_id, ($6::uuid[])[0]) as parent_id, coalesce(u.name, ($7::text[])[0]) as name,
      coalesce(u.codec, ($8::text[])[0]) as codec, coalesce(u.data, ($9::text[])[0]) as data,
      coalesce(u.position, ($10::int[])[0]) as position, coalesce(u.recovery, ($11::text[])[0]) as recovery
    from unnest(
      (select $1::uuid[]), (select $2::int[]), (select $3::int[]), (select $4::float8[]),
        (select $5::int[]), (select $6::uuid[]), (select $7::text[]), (select $8::text[]),
        (select $9::text[]), (select $10::int[]), (select $11::text[])
    ) as u(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery)
  ) as n
),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, 'waiting',
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, false,
    null, recovery
  from new, t
)
insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
select id, 1, 0, 'start', name, codec, data, t.now
from new, t;

-- insert_runs_again · run/insert-runs.ts
-- Inserts runs of which some may be there already.
with t as materialized (select clock_timestamp() as now),
new as materialized (
  select *
  from (
    select u.id, coalesce(u.claim_group, ($2::int[])[0]) as claim_group,
      coalesce(u.priority, ($3::int[])[0]) as priority, coalesce(u.delay_ms, ($4::float8[])[0]) as delay_ms,
      coalesce(u.crash_limit, ($5::int[])[0]) as crash_limit,
      coalesce(u.parent_id, ($6::uuid[])[0]) as parent_id, coalesce(u.name, ($7::text[])[0]) as name,
      coalesce(u.codec, ($8::text[])[0]) as codec, coalesce(u.data, ($9::text[])[0]) as data,
      coalesce(u.position, ($10::int[])[0]) as position, coalesce(u.recovery, ($11::text[])[0]) as recovery
    from unnest(
      (select $1::uuid[]), (select $2::int[]), (select $3::int[]), (select $4::float8[]),
        (select $5::int[]), (select $6::uuid[]), (select $7::text[]), (select $8::text[]),
        (select $9::text[]), (select $10::int[]), (select $11::text[])
    ) as u(id, claim_group, priority, delay_ms, crash_limit, parent_id, name, codec, data, position, recovery)
  ) as n
),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, 'waiting',
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, false,
    null, recovery
  from new, t
  on conflict do nothing
  returning id
)
insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
select id, 1, 0, 'start', name, codec, data, t.now
from new, t
where ((id in (select id from r)) is not false)
on conflict do nothing;

-- is_probe · limit/breakers.ts
-- Checks whether a run is a probe.
select
from "holdfast".breaker_probes
where run_id = $1
limit 1;

-- join_queue_figures · statistic/statistics.ts
-- Joins old depths of queues into longer steps.
with old as materialized (
  select f.ctid
  from "holdfast".queue_figures f
  where f.env = $1 and f.step_ms = $2 and f.at < clock_timestamp() - $4::float8 * interval '1 millisecond'
  order by f.env, f.step_ms, f.at
  limit 5000
  for update skip locked
),
gone as (
  delete from "holdfast".queue_figures f
  where f.ctid = any (array (select ctid from old))
  returning f.*
)
insert into "holdfast".queue_figures as f (env, at, step_ms, queue, waiting, running, parked, held, oldest_ms)
select g.env, date_bin($3::int * interval '1 millisecond', g.at, timestamptz 'epoch'), $3::int, g.queue,
  max(g.waiting), max(g.running), max(g.parked), max(g.held), max(g.oldest_ms)
from gone g
where $3::int > 0
group by 1, 2, 4
on conflict (env, step_ms, at, queue) do update set waiting = greatest(f.waiting, excluded.waiting),
  running = greatest(f.running, excluded.running), parked = greatest(f.parked, excluded.parked),
  held = greatest(f.held, excluded.held), oldest_ms = greatest(f.oldest_ms, excluded.oldest_ms);

-- join_run_figures · statistic/statistics.ts
-- Joins old figures of runs into longer steps.
with old as materialized (
  select f.ctid
  from "holdfast".run_figures f
  where f.env = $1 and f.step_ms = $2 and f.at < clock_timestamp() - $4::float8 * interval '1 millisecond'
  order by f.env, f.step_ms, f.at
  limit 5000
  for update skip locked
),
gone as (delete from "holdfast".run_figures f where f.ctid = any (array (select ctid from old)) returning f.*)
insert into "holdfast".run_figures as f (
  env, at, step_ms, program, queue, started, completed, failed, dead, cancelled, skipped, durations
)
select g.env, date_bin($3::int * interval '1 millisecond', g.at, timestamptz 'epoch'), $3::int, g.program,
  g.queue, sum(g.started)::int as started, sum(g.completed)::int as completed, sum(g.failed)::int as failed,
  sum(g.dead)::int as dead, sum(g.cancelled)::int as cancelled, sum(g.skipped)::int as skipped,
  array[sum(g.durations[1])::int, sum(g.durations[2])::int, sum(g.durations[3])::int,
  sum(g.durations[4])::int, sum(g.durations[5])::int, sum(g.durations[6])::int, sum(g.durations[7])::int,
  sum(g.durations[8])::int, sum(g.durations[9])::int, sum(g.durations[10])::int, sum(g.durations[11])::int,
  sum(g.durations[12])::int, sum(g.durations[13])::int, sum(g.durations[14])::int] as durations
from gone g
where $3::int > 0
group by 1, 2, 4, 5
on conflict (env, step_ms, at, program, queue) do update set started = f.started + excluded.started,
  completed = f.completed + excluded.completed, failed = f.failed + excluded.failed,
  dead = f.dead + excluded.dead, cancelled = f.cancelled + excluded.cancelled,
  skipped = f.skipped + excluded.skipped, durations = array[f.durations[1] + excluded.durations[1],
  f.durations[2] + excluded.durations[2], f.durations[3] + excluded.durations[3],
  f.durations[4] + excluded.durations[4], f.durations[5] + excluded.durations[5],
  f.durations[6] + excluded.durations[6], f.durations[7] + excluded.durations[7],
  f.durations[8] + excluded.durations[8], f.durations[9] + excluded.durations[9],
  f.durations[10] + excluded.durations[10], f.durations[11] + excluded.durations[11],
  f.durations[12] + excluded.durations[12], f.durations[13] + excluded.durations[13],
  f.durations[14] + excluded.durations[14]];

-- key_of_run · run/deferred-runs.ts
-- Reads the key that a run holds.
select k.scope, k.key
from "holdfast".runs r
join "holdfast".run_keys k on k.hash = r.key_hash and k.run_id = r.id
where r.id = $1;

-- last_set_entry · journal/read-journal.ts
-- Reads the last value that a run shows under a name.
select j.seq, j.epoch, j.kind, j.name, j.key, j.codec, j.data,
  floor(extract(epoch from j.at) * 1000)::float8 as at
from "holdfast".journal j
where j.run_id = $1 and j.name = $2 and j.kind = 'set'
order by j.run_id, j.name, j.seq desc
limit 1;

-- last_statistics · statistic/statistics.ts
-- Reads when figures were last counted.
select floor(extract(epoch from c.at) * 1000)::float8 as at
from "holdfast".cleanups c
where c.env = $1 and c.part = 'statistics';

-- leave_tasks · task/leave-tasks.ts
-- Stops counting the tasks of runs that start again.
with recursive tree(id, parent) as (
  select x.id, null::uuid
  from (select unnest($1::uuid[])) as x (id)
  union all
  select j.key::uuid, tree.id
  from tree
  cross join lateral (select base_seq from "holdfast".runs r where r.id = tree.id limit 1) r
  cross join lateral (
    select key
    from "holdfast".journal j
    where j.run_id = tree.id and j.seq > r.base_seq and j.kind = 'task'
    offset 0
  ) j
),
l as materialized (
  select r.id
  from "holdfast".runs r
  where r.id = any (array (select id from tree))
  order by r.id
  for no key update
)
update "holdfast".runs r
set counts = false
where r.id = any (array (select id from l)) and r.counts and r.parent_id = any ($1::uuid[]);

-- limits_of_runs · view/ends.ts
-- Reads which limits runs wait for.
select w.ord::int, l.key, g.env
from unnest((select $1::uuid[])) with ordinality as w (id, ord)
cross join lateral (select r.claim_group from "holdfast".runs r where r.id = w.id limit 1) r
cross join lateral (
  select l.key
  from "holdfast".run_limits l
  where l.run_id = w.id and l.state = 'waits'
  limit 1
) l
cross join lateral (select g.env from "holdfast".claim_groups g where g.id = r.claim_group limit 1) g;

-- list_audit, of an env · audit/audit.ts
-- Lists a page of audit rows, the newest first.
select a.id, floor(extract(epoch from a.at) * 1000)::float8 as at, a.env, a.by, a.via, a.action, a.object,
  a.before, a.after, a.note, a.request
from "holdfast".audit a
where a.env = $1
order by a.id desc
limit $2;

-- list_audit, with every condition · audit/audit.ts
-- Lists a page of audit rows, the newest first.
select a.id, floor(extract(epoch from a.at) * 1000)::float8 as at, a.env, a.by, a.via, a.action, a.object,
  a.before, a.after, a.note, a.request
from "holdfast".audit a
where a.env = $1 and a.by = $2 and a.action = $3 and a.object = $4 and a.id < $5::uuid
order by a.id desc
limit $6;

-- list_dead_letters, the first page · view/dead-letters.ts
-- Lists dead letters, the last to end first.
select x.run_id, g.program, g.queue, x.state,
  floor(extract(epoch from x.ended_at) * 1000)::float8 as ended_at,
  (extract(epoch from x.ended_at) * 1000000)::bigint as ended_us, x.code, x.seq, x.epoch, x.kind, x.name,
  x.key, x.codec, x.data, x.at
from "holdfast".claim_groups g
cross join lateral (
  select r.id as run_id, r.state, r.ended_at,
    (
      case
        when j.codec = 'json'
          and j.data !~* '\\u(0000|d[89a-f])' then coalesce(
            j.data::json ->> 'code', j.data::json ->> 'name'
          ) end
    ) as code,
    j.seq, j.epoch, j.kind, j.name, j.key, j.codec, j.data,
    floor(extract(epoch from j.at) * 1000)::float8 as at
  from (
    select r.id, r.state, r.ended_at, r.seq
    from "holdfast".runs r
    where r.claim_group = g.id
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = 1
      and r.ended_at is not null
      and r.state in ('failed', 'dead', 'quarantined')
    order by r.ended_at desc, r.id desc
  ) r
  left join lateral (
    select *
    from "holdfast".journal j
    where j.run_id = r.id and j.seq = r.seq
    limit 1
  ) j on true
  limit $2
) x
where g.env = $1
order by x.ended_at desc, x.run_id desc
limit $2;

-- list_dead_letters, with every condition · view/dead-letters.ts
-- Lists dead letters, the last to end first.
select x.run_id, g.program, g.queue, x.state,
  floor(extract(epoch from x.ended_at) * 1000)::float8 as ended_at,
  (extract(epoch from x.ended_at) * 1000000)::bigint as ended_us, x.code, x.seq, x.epoch, x.kind, x.name,
  x.key, x.codec, x.data, x.at
from "holdfast".claim_groups g
cross join lateral (
  select r.id as run_id, r.state, r.ended_at,
    (
      case
        when j.codec = 'json'
          and j.data !~* '\\u(0000|d[89a-f])' then coalesce(
            j.data::json ->> 'code', j.data::json ->> 'name'
          ) end
    ) as code,
    j.seq, j.epoch, j.kind, j.name, j.key, j.codec, j.data,
    floor(extract(epoch from j.at) * 1000)::float8 as at
  from (
    select r.id, r.state, r.ended_at, r.seq
    from "holdfast".runs r
    where r.claim_group = g.id
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = 1
      and r.ended_at is not null
      and r.state in ('failed')
      and (r.ended_at, r.id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $5::uuid)
    order by r.ended_at desc, r.id desc
  ) r
  left join lateral (
    select *
    from "holdfast".journal j
    where j.run_id = r.id and j.seq = r.seq
    limit 1
  ) j on true
  where (
    case
      when j.codec = 'json'
        and j.data !~* '\\u(0000|d[89a-f])' then coalesce(
          j.data::json ->> 'code', j.data::json ->> 'name'
        ) end
  ) = $6
  limit $7
) x
where g.env = $1 and g.program = $2 and g.queue = $3
order by x.ended_at desc, x.run_id desc
limit $7;

-- list_definitions · definition/definitions.ts
-- Lists definitions, with their bodies if the revision has changed.
with mine as materialized (select * from "holdfast".definitions where env = $1),
r as materialized (
  select md5(
    coalesce(
      string_agg(
        concat_ws(' ', kind, name, version, enabled, md5(body)), ','
        order by kind collate "C", name collate "C"
      ),
        ''
    )
  ) as revision
  from mine
)
select r.revision, d.env, d.kind, d.name, d.version, d.enabled, d.body, d.by,
  floor(extract(epoch from d.at) * 1000)::float8 as at
from r
left join mine d on r.revision is distinct from $2
order by d.kind collate "C", d.name collate "C";

-- list_ended, from now on · view/ends.ts
-- Lists runs in the order of their ends.
with t as materialized (select clock_timestamp() as now)
select (extract(epoch from t.now) * 1000000)::bigint as now_us, x.*
from t
left join lateral (
  select x.*, (extract(epoch from x.ended_at) * 1000000)::bigint as us, g.program, g.queue, g.stack
  from "holdfast".claim_groups g
  cross join unnest(array[0, 1]) as part (n)
  cross join lateral (
    select r.id, r.state, r.parent_id, r.ended_at
    from "holdfast".runs r
    where r.claim_group = g.id
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = part.n
      and r.ended_at is not null
      and false
    order by r.ended_at, r.id
    limit $2
  ) x
  where g.env = $1
  order by x.ended_at, x.id
  limit $2
) x on true
order by x.ended_at, x.id;

-- list_ended, the next page · view/ends.ts
-- Lists runs in the order of their ends.
with t as materialized (select clock_timestamp() as now)
select (extract(epoch from t.now) * 1000000)::bigint as now_us, x.*
from t
left join lateral (
  select x.*, (extract(epoch from x.ended_at) * 1000000)::bigint as us, g.program, g.queue, g.stack
  from "holdfast".claim_groups g
  cross join unnest(array[0, 1]) as part (n)
  cross join lateral (
    select r.id, r.state, r.parent_id, r.ended_at
    from "holdfast".runs r
    where r.claim_group = g.id
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = part.n
      and r.ended_at is not null
      and (r.ended_at, r.id) > (timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4::uuid)
    order by r.ended_at, r.id
    limit $2
  ) x
  where g.env = $1
  order by x.ended_at, x.id
  limit $2
) x on true
order by x.ended_at, x.id;

-- list_instances, of an env · machine/machines.ts
-- Lists a page of instances, the newest first.
select i.*
from "holdfast".claim_groups g
cross join lateral (
  select i.key, i.id, g.env, g.stack, g.queue, g.program, i.version, i.status, i.seq::float8, i.value,
    i.redact, i.problem, floor(extract(epoch from i.created_at) * 1000)::float8 as "createdAt",
    floor(extract(epoch from i.updated_at) * 1000)::float8 as "updatedAt",
    floor(extract(epoch from i.ended_at) * 1000)::float8 as "endedAt", i.created_at as made_at
  from "holdfast".instances i
  where i.claim_group = g.id and i.status = any ($1::text[])
  order by i.created_at desc, i.key desc
  limit $2
) i
where g.env = $3
order by i.made_at desc, i.key desc
limit $2;

-- list_instances, with every condition · machine/machines.ts
-- Lists a page of instances, the newest first.
with b as materialized (select b.created_at, b.key from "holdfast".instances b where b.key = $4::uuid)
select i.*
from "holdfast".claim_groups g
cross join lateral (
  select i.key, i.id, g.env, g.stack, g.queue, g.program, i.version, i.status, i.seq::float8, i.value,
    i.redact, i.problem, floor(extract(epoch from i.created_at) * 1000)::float8 as "createdAt",
    floor(extract(epoch from i.updated_at) * 1000)::float8 as "updatedAt",
    floor(extract(epoch from i.ended_at) * 1000)::float8 as "endedAt", i.created_at as made_at
  from "holdfast".instances i
  where i.claim_group = g.id
    and i.id = $5
    and i.status = any ($1::text[])
    and (i.created_at, i.key) < ((select created_at from b), (select key from b))
  order by i.created_at desc, i.key desc
  limit $2
) i
where g.env = $3 and g.stack = $6 and g.program = $7
order by i.made_at desc, i.key desc
limit $2;

-- list_kept_values · kept/kept.ts
-- Lists kept values of a space that have not expired, in the order of their keys.
select v.key, v.codec, v.data, floor(extract(epoch from v.at) * 1000)::float8 as at,
  floor(extract(epoch from v.until) * 1000)::float8 as until
from "holdfast".kept_values v
where v.env = $1 and v.space = $2 and v.key > $3 and (v.until is null or v.until > (select clock_timestamp()))
order by v.key
limit $4;

-- list_leases, with a prefix · view/lists.ts
-- Lists named leases by key.
with t as materialized (select clock_timestamp() as now)
select l.env, l.key, l.owner, l.epoch, l.attempt, l.detail,
  case
    when l.state = 'claimed' and l.lease_until <= (select now from t) then 'expired'
    else l.state end as state,
  floor(extract(epoch from l.lease_until) * 1000)::float8 as lease_until,
  floor(extract(epoch from l.acquired_at) * 1000)::float8 as acquired_at,
  floor(extract(epoch from l.finished_at) * 1000)::float8 as finished_at
from "holdfast".leases l
where l.env = $1 and l.key > $2 and l.key >= $3 and starts_with(l.key, $3)
order by l.env, l.key
limit $4;

-- list_limits · view/views.ts
-- Lists limits with the runs that hold and wait.
with recursive keys as (
  select least(
    (
      select l.key
      from "holdfast".run_limits l
      where l.state = 'waits' and l.key > $2::text collate "C"
      order by l.key
      limit 1
    ),
      (
        select l.key
        from "holdfast".run_limits l
        where l.state = 'granted' and l.key > $2::text collate "C"
        order by l.key
        limit 1
      )
  ) as key,
    1 as n
  union all
  select least(
    (
      select l.key
      from "holdfast".run_limits l
      where l.state = 'waits' and l.key > k.key
      order by l.key
      limit 1
    ),
      (
        select l.key
        from "holdfast".run_limits l
        where l.state = 'granted' and l.key > k.key
        order by l.key
        limit 1
      )
  ),
    k.n + 1
  from keys k
  where k.n < $3 and starts_with(k.key, $1)
)
select k.key,
  (
    select count(*)::int
    from (select from "holdfast".run_limits l where l.state = 'granted' and l.key = k.key limit 1000) x
  ) as granted,
  (
    select count(*)::int
    from (select from "holdfast".run_limits l where l.state = 'waits' and l.key = k.key limit 1000) x
  ) as waiting
from keys k
where starts_with(k.key, $1)
order by k.n;

-- list_nodes · node/nodes.ts
-- Lists nodes with their mode, groups and number of runs.
select n.incarnation, n.identity, n.name, n.env, n.stack, n.build,
  floor(extract(epoch from n.started_at) * 1000)::float8 as "startedAt",
  floor(extract(epoch from n.seen_at) * 1000)::float8 as "seenAt",
  floor(extract(epoch from n.stopped_at) * 1000)::float8 as "stoppedAt", n.executors, n.alone,
  n.heartbeat_ms::float8 as "heartbeatMs", n.lease_ms::float8 as "leaseMs",
  n.presence_grace_ms::float8 as "presenceGraceMs",
  n.stopped_at is null
    and n.seen_at >= clock_timestamp() - (
      3 * coalesce(n.heartbeat_ms, 5000)
    ) * interval '1 millisecond' as alive,
  n.mode, n.overrides, n.drain,
  array (
    select json_build_object(
      'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
        nullif(g.version, '')
    )
    from unnest(n.serves) with ordinality as o (id, ord)
    join "holdfast".claim_groups g on g.id = o.id
    where true
    order by o.ord
  ) as serves,
  array (
    select json_build_object(
      'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
        nullif(g.version, '')
    )
    from unnest(n.claims) with ordinality as o (id, ord)
    join "holdfast".claim_groups g on g.id = o.id
    where true
    order by o.ord
  ) as claims,
  array (
    select json_build_object(
      'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
        nullif(g.version, '')
    )
    from unnest(n.claims) with ordinality as o (id, ord)
    join "holdfast".claim_groups g on g.id = o.id
    where n.stopped_at is null and n.declared ->> g.id::text <> md5(g.limits || ' ' || g.recovery)
    order by o.ord
  ) as overruled,
  (
    select count(*)::int
    from "holdfast".runs r
    where r.state = 'running' and r.owner = n.incarnation
  ) as holds,
  n.vitals
from "holdfast".nodes n
where n.env = $1 and ($2 or n.stopped_at is null)
order by n.started_at desc, n.incarnation;

-- list_programs · node/nodes.ts
-- Lists the programs that nodes have reported.
select name, kind, shape, input_schema as "inputSchema", floor(extract(epoch from at) * 1000)::float8 as at
from "holdfast".programs
where env = $1
order by name;

-- list_queues · limit/queues.ts
-- Lists queues with the number of runs in each state.
with t as materialized (select clock_timestamp() as now),
mine as materialized (select g.id, g.queue from "holdfast".claim_groups g where g.env = $1),
waiting as materialized (
  select m.queue, c.n, o.oldest
  from mine m
  cross join lateral (
    select count(*)::int as n
    from (select from "holdfast".runs r where r.claim_group = m.id and r.state = 'waiting' limit 20000) x
  ) c
  cross join lateral (
    with recursive line as (
      (
        select r.priority, r.available_at, 1 as i
        from "holdfast".runs r
        where r.claim_group = m.id and r.state = 'waiting'
        order by r.priority, r.available_at
        limit 1
      )
      union all
      select n.*, l.i + 1
      from line l
      cross join lateral (
        select r.priority, r.available_at
        from "holdfast".runs r
        where r.claim_group = m.id and r.state = 'waiting' and r.priority > l.priority
        order by r.priority, r.available_at
        limit 1
      ) n
      where l.i < 100
    )
    select min(l.available_at) as oldest
    from line l
    where l.available_at <= (select now from t)
  ) o
  where c.n > 0
),
others as materialized (
  (select r.claim_group, r.state from "holdfast".runs r where r.state = 'running' limit 20000)
  union all (select r.claim_group, 'parked' from "holdfast".runs r where r.state = 'parked' limit 20000)
  union all (
    select r.claim_group, r.state
    from "holdfast".runs r
    where r.state in ('held', 'blocked', 'paused')
    limit 20000
  )
),
counted as materialized (select o.claim_group, o.state, count(*)::int as n from others o group by 1, 2),
depths as materialized (
  select w.queue, 'waiting' as state, sum(w.n)::int as n, min(w.oldest) as oldest
  from waiting w
  group by 1
  union all
  select m.queue, c.state, sum(c.n)::int, null
  from counted c
  join mine m on m.id = c.claim_group
  group by 1, 2
),
named as (select queue from depths union select queue from "holdfast".paused_queues where env = $1)
select q.queue, coalesce(json_object_agg(d.state, d.n) filter (where d.state is not null), '{}') as counts,
  floor(extract(epoch from (select now from t) - min(d.oldest)) * 1000)::float8 as "oldestWaitingMs",
  case
    when p.at is not null then json_build_object(
      'at', floor(extract(epoch from p.at) * 1000)::float8, 'by', p.by
    ) end as paused
from named q
left join "holdfast".paused_queues p on p.env = $1 and p.queue = q.queue
left join depths d on d.queue = q.queue
group by q.queue, p.at, p.by
order by q.queue collate "C";

-- list_runs, of all states · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from (
  select *
  from (select * from "holdfast".runs r where true order by r.id desc limit 1000) r
  where ((r.claim_group in (select g.id from "holdfast".claim_groups g where g.env = $1)) is not false)
    and r.archived_at is null
  order by r.id desc
  limit $2
) r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
order by r.id desc;

-- list_runs, of all states, the next page · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from (
  select *
  from (select * from "holdfast".runs r where true and r.id < $2::uuid order by r.id desc limit 1000) r
  where ((r.claim_group in (select g.id from "holdfast".claim_groups g where g.env = $1)) is not false)
    and r.archived_at is null
  order by r.id desc
  limit $3
) r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
order by r.id desc;

-- list_runs, of a program that is rare · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from (
  select *
  from (
    select x.*
    from "holdfast".claim_groups g
    cross join lateral (
      select y.*
      from unnest(array[ 'completed', 'failed', 'cancelled', 'skipped', 'dead', 'quarantined']) as e (state)
      cross join lateral (
        select r.*
        from "holdfast".runs r
        where r.claim_group = g.id
          and r.state = e.state
          and r.ended_at < 'infinity'
          and (case when r.archived_at is null then 0 else 1 end) = 0
          and r.archived_at is null
        order by r.id desc
        limit $3
      ) y
      union all (
        select r.*
        from "holdfast".runs r
        where r.claim_group = g.id and r.state in ('held', 'blocked', 'paused') and r.archived_at is null
        order by r.id desc
        limit $3
      )
      union all
      select r.*
      from "holdfast".runs r
      where r.claim_group = g.id and r.state = 'waiting' and r.archived_at is null
    ) x
    where g.env = $1 and g.program = $2
    union all
    select r.*
    from "holdfast".runs r
    where r.state = 'running'
      and (
        (
          r.claim_group in (select g.id from "holdfast".claim_groups g where g.env = $1 and g.program = $2)
        ) is not false
      )
      and r.archived_at is null
    union all
    select r.*
    from "holdfast".runs r
    where r.state = 'parked'
      and (
        (
          r.claim_group in (select g.id from "holdfast".claim_groups g where g.env = $1 and g.program = $2)
        ) is not false
      )
      and r.archived_at is null
  ) r
  order by r.id desc
  limit $3
) r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
order by r.id desc;

-- list_runs, with every condition · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
where g.env = $1
  and g.stack = $2
  and g.program = $3
  and g.queue = $4
  and r.archived_at is null
  and r.state in ('waiting', 'running')
  and r.id >= $5::uuid
  and r.id < $6::uuid
  and r.owner = $7::uuid
  and r.state = 'running'
  and r.id < $8::uuid
order by r.id desc
limit $9;

-- list_runs, troubled · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from (
  select *
  from (
    select x.*
    from "holdfast".claim_groups g
    cross join lateral (
      select y.*
      from unnest(array[ 'failed', 'dead']) as e (state)
      cross join lateral (
        select r.*
        from "holdfast".runs r
        where r.claim_group = g.id
          and r.state = e.state
          and r.ended_at < 'infinity'
          and (case when r.archived_at is null then 0 else 1 end) = 0
          and r.archived_at is null
          and r.state in ('failed', 'dead')
        order by r.id desc
        limit $2
      ) y
    ) x
    where g.env = $1
  ) r
  order by r.id desc
  limit $2
) r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
order by r.id desc;

-- list_runs, archived · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from (
  select *
  from (
    select x.*
    from "holdfast".claim_groups g
    cross join lateral (
      select y.*
      from unnest(array[ 'completed', 'failed', 'cancelled', 'skipped', 'dead', 'quarantined']) as e (state)
      cross join lateral (
        select r.*
        from "holdfast".runs r
        where r.claim_group = g.id
          and r.state = e.state
          and r.ended_at < 'infinity'
          and (case when r.archived_at is null then 0 else 1 end) = 1
          and r.archived_at is not null
        order by r.id desc
        limit $2
      ) y
      union all (
        select r.*
        from "holdfast".runs r
        where r.claim_group = g.id and r.state in ('held', 'blocked', 'paused') and r.archived_at is not null
        order by r.id desc
        limit $2
      )
      union all
      select r.*
      from "holdfast".runs r
      where r.claim_group = g.id and r.state = 'waiting' and r.archived_at is not null
    ) x
    where g.env = $1
    union all
    select r.*
    from "holdfast".runs r
    where r.state = 'running'
      and ((r.claim_group in (select g.id from "holdfast".claim_groups g where g.env = $1)) is not false)
      and r.archived_at is not null
    union all
    select r.*
    from "holdfast".runs r
    where r.state = 'parked'
      and ((r.claim_group in (select g.id from "holdfast".claim_groups g where g.env = $1)) is not false)
      and r.archived_at is not null
  ) r
  order by r.id desc
  limit $2
) r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
order by r.id desc;

-- list_runs, by attributes · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from (
  select *
  from (
    select x.*
    from "holdfast".claim_groups g
    cross join lateral (
      select r.*
      from "holdfast".run_attributes a
      cross join lateral (
        select *
        from "holdfast".runs r
        where r.id = a.run_id
          and r.archived_at is null
          and exists (
            select
            from "holdfast".run_attributes a
            where a.run_id = r.id and a.name = $2 and a.value = $3
            offset 0
          )
        limit 1
      ) r
      where a.claim_group = g.id and a.name = $4 and a.value = $5 and a.run_id < $6::uuid
      order by a.run_id desc
      limit $7
    ) x
    where g.env = $1
  ) r
  order by r.id desc
  limit $7
) r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
order by r.id desc;

-- list_runs, by state, with attributes · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from (
  select *
  from (
    select x.*
    from "holdfast".claim_groups g
    cross join lateral (
      select y.*
      from unnest(array[ 'failed']) as e (state)
      cross join lateral (
        select r.*
        from "holdfast".runs r
        where r.claim_group = g.id
          and r.state = e.state
          and r.ended_at < 'infinity'
          and (case when r.archived_at is null then 0 else 1 end) = 0
          and r.archived_at is null
          and r.state in ('failed')
          and exists (
            select
            from "holdfast".run_attributes a
            where a.run_id = r.id and a.name = $3 and a.value = $4
            offset 0
          )
          and exists (
            select
            from "holdfast".run_attributes a
            where a.run_id = r.id and a.name = $5 and a.value = $6
            offset 0
          )
        order by r.id desc
        limit $7
      ) y
    ) x
    where g.env = $1 and g.program = $2
  ) r
  order by r.id desc
  limit $7
) r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
order by r.id desc;

-- list_runs, deferred · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
where g.env = $1
  and r.archived_at is null
  and r.id = any (array (select f.run_id from "holdfast".deferred_runs f))
order by r.id desc
limit $2;

-- list_runs, by key · run/list-runs.ts
-- Lists a page of runs, the newest first.
select r.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group",
  r.state, r.priority, floor(extract(epoch from r.available_at) * 1000)::float8 as "availableAt",
  floor(extract(epoch from r.wake_at) * 1000)::float8 as "wakeAt", r.epoch::float8, r.owner,
  floor(extract(epoch from r.lease_until) * 1000)::float8 as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k. "recoveredFrom",
  k.recoveries, floor(extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from r.ended_at) * 1000)::float8 as "endedAt",
  floor(extract(epoch from r.archived_at) * 1000)::float8 as "archivedAt", f.deferred, a.attributes
from "holdfast".runs r
join "holdfast".claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object(
    'by', f.by, 'expiresAt', floor(extract(epoch from f.expires_at) * 1000)::float8, 'takenBy', f.taken_by,
      'takenAt', floor(extract(epoch from f.taken_at) * 1000)::float8
  ) as deferred
  from "holdfast".deferred_runs f
  where f.run_id = r.id
  limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes
  from "holdfast".run_attributes a
  where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object(
    'builds', r.misfits, 'wanted', (select m.wanted from "holdfast".misfit_runs m where m.run_id = r.id)
  ) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from "holdfast".reclaimed_claims k
  where k.run_id = r.id
) k
where g.env = $1
  and g.program = $2
  and r.archived_at is null
  and r.id = any (
    array (
      select k.run_id
      from "holdfast".run_keys k
      where k.env = $3
        and k.key collate "C" >= $4::text
        and k.key collate "C" < $5::text
        and starts_with(k.key, $6::text)
    )
  )
order by r.id desc
limit $7;

-- list_schedules · schedule/schedules.ts
-- Lists the schedules of an env.
with t as materialized (select clock_timestamp() as now)
select floor(extract(epoch from t.now) * 1000)::float8 as now, x.*
from t
left join lateral (
  select s.id,
    json_build_object(
      'env', s.env, 'stack', nullif(s.stack, ''), 'queue', s.queue, 'program', s.program, 'version',
        nullif(s.version, '')
    ) as "group",
    s.key, s.spec, floor(extract(epoch from s.anchor) * 1000)::float8 as anchor,
    floor(extract(epoch from s.last_at) * 1000)::float8 as last,
    floor(extract(epoch from s.next_at) * 1000)::float8 as next,
    floor(extract(epoch from s.seen_at) * 1000)::float8 as "seenAt",
    case
      when s.paused_at is not null then json_build_object(
        'at', floor(extract(epoch from s.paused_at) * 1000)::float8, 'by', s.paused_by
      ) end as paused
  from "holdfast".schedules s
  where s.env = $1
) x on true
order by x. "group" ->> 'program' collate "C", x.key collate "C",
  coalesce(x. "group" ->> 'stack', '') collate "C";

-- list_subscriptions · event/subscriptions.ts
-- Lists the subscriptions of an env.
select u.id, u.scope, u.env, nullif(u.stack, '') as stack, u.event, u.program, u.queue,
  nullif(u.version, '') as version, u.filters as "where", u.subject::json, u.debounce_ms as "debounceMs",
  case u.lifetime
    when 'timed' then json_build_object('forMs', coalesce(u.key_ms, 0))
    else to_json(u.lifetime) end as lifetime,
  u.crash_limit as "crashLimit",
  case
    when u.threshold is not null then json_build_object(
      'threshold', u.threshold, 'halfOpenMs', coalesce(u.half_open_ms, 0)
    ) end as breaker
from "holdfast".subscriptions u
where u.env = $1
order by u.id;

-- list_takeovers, the first page · view/histories.ts
-- Lists reclaimed claims, the newest first.
select k.run_id, g.program, k.epoch, floor(extract(epoch from k.at) * 1000)::float8 as at,
  (extract(epoch from k.at) * 1000000)::bigint as at_us, k.outcome,
  (
    select json_build_object('incarnation', k.owner, 'identity', max(n.identity), 'name', max(n.name))
    from "holdfast".nodes n
    where n.incarnation = k.owner having k.owner is not null
  ) as holder,
  (
    select json_build_object('incarnation', k.by, 'identity', max(n.identity), 'name', max(n.name))
    from "holdfast".nodes n
    where n.incarnation = k.by having k.by is not null
  ) as by
from "holdfast".reclaimed_claims k
cross join lateral (select r.claim_group from "holdfast".runs r where r.id = k.run_id limit 1) r
cross join lateral (
  select g.program
  from "holdfast".claim_groups g
  where g.id = r.claim_group and g.env = $1
  limit 1
) g
order by k.at desc, k.run_id desc, k.epoch desc
limit $2;

-- list_takeovers, the next page · view/histories.ts
-- Lists reclaimed claims, the newest first.
select k.run_id, g.program, k.epoch, floor(extract(epoch from k.at) * 1000)::float8 as at,
  (extract(epoch from k.at) * 1000000)::bigint as at_us, k.outcome,
  (
    select json_build_object('incarnation', k.owner, 'identity', max(n.identity), 'name', max(n.name))
    from "holdfast".nodes n
    where n.incarnation = k.owner having k.owner is not null
  ) as holder,
  (
    select json_build_object('incarnation', k.by, 'identity', max(n.identity), 'name', max(n.name))
    from "holdfast".nodes n
    where n.incarnation = k.by having k.by is not null
  ) as by
from "holdfast".reclaimed_claims k
cross join lateral (select r.claim_group from "holdfast".runs r where r.id = k.run_id limit 1) r
cross join lateral (
  select g.program
  from "holdfast".claim_groups g
  where g.id = r.claim_group and g.env = $1
  limit 1
) g
where (k.at, k.run_id, k.epoch) < (
  timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4::uuid, $5::bigint
)
order by k.at desc, k.run_id desc, k.epoch desc
limit $2;

-- list_timers, pending · view/lists.ts
-- Lists timers by their next attempt.
select x.id, x.instance, x.generation, x.kind, x.name,
  floor(extract(epoch from x.due_at) * 1000)::float8 as due_at,
  floor(extract(epoch from greatest(x.try_at, x.claimed_until)) * 1000)::float8 as look_at,
  (extract(epoch from x.try_at) * 1000000)::bigint as try_us, x.attempts, x.state, x.problem, g.program,
  x.instance_id
from "holdfast".claim_groups g
cross join lateral (
  select x.*, i.id as instance_id
  from "holdfast".timers x
  cross join lateral (select i.id from "holdfast".instances i where i.key = x.instance limit 1) i
  where x.claim_group = g.id and x.state = 'pending'
  order by x.claim_group, x.try_at, x.id
  limit $2
) x
where g.env = $1
order by x.try_at, x.id
limit $2;

-- list_timers, dead, the next page · view/lists.ts
-- Lists timers by their next attempt.
select x.id, x.instance, x.generation, x.kind, x.name,
  floor(extract(epoch from x.due_at) * 1000)::float8 as due_at,
  floor(extract(epoch from greatest(x.try_at, x.claimed_until)) * 1000)::float8 as look_at,
  (extract(epoch from x.try_at) * 1000000)::bigint as try_us, x.attempts, x.state, x.problem, g.program,
  x.instance_id
from "holdfast".claim_groups g
cross join lateral (
  select x.*, i.id as instance_id
  from "holdfast".timers x
  cross join lateral (select i.id from "holdfast".instances i where i.key = x.instance limit 1) i
  where x.claim_group = g.id
    and x.state = 'dead'
    and (x.try_at, x.id) > (timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4::uuid)
  order by x.claim_group, x.try_at, x.id
  limit $2
) x
where g.env = $1
order by x.try_at, x.id
limit $2;

-- list_tokens · audit/tokens.ts
-- Lists tokens, the newest first.
select t.id, t.name, t.may, t.envs, t.groups, t.created_by as by,
  floor(extract(epoch from t.created_at) * 1000)::float8 as created_at,
  floor(extract(epoch from t.expires_at) * 1000)::float8 as expires_at,
  floor(extract(epoch from t.last_used_at) * 1000)::float8 as last_used_at,
  floor(extract(epoch from t.revoked_at) * 1000)::float8 as revoked_at
from "holdfast".tokens t
order by t.created_at desc, t.id desc;

-- load_instances · machine/machines.ts
-- Reads instances with their snapshots.
select x.*
from unnest((select $1::uuid[])) with ordinality as w (id, ord)
left join lateral (
  select i.key, i.id, g.env, g.stack, g.queue, g.program, i.version, i.status, i.seq::float8, i.value,
    i.redact, i.problem, floor(extract(epoch from i.created_at) * 1000)::float8 as "createdAt",
    floor(extract(epoch from i.updated_at) * 1000)::float8 as "updatedAt",
    floor(extract(epoch from i.ended_at) * 1000)::float8 as "endedAt", i.codec, i.data,
    i.snapshot_seq::float8 as "snapshotSeq"
  from "holdfast".instances i
  join "holdfast".claim_groups g on g.id = i.claim_group
  where i.key = w.id
  limit 1
) x on true
order by w.ord;

-- match_events · event/subscriptions.ts
-- Finds the subscriptions that events are for.
with e as materialized (
  select env, stack, event, plain::jsonb as payload, ord::int
  from unnest(
    (select $1::text[]), (select $2::text[]), (select $3::text[]), (select $4::text[])
  ) with ordinality as e (env, stack, event, plain, ord)
),
m as materialized (
  select e.env, x.id, array_agg(e.ord order by e.ord) as ords
  from e
  cross join lateral (
    select u.id
    from "holdfast".subscriptions u
    where u.env = e.env
      and u.stack = e.stack
      and u.event = e.event
      and (u.filters = '{}' or exists (select from unnest(u.filters) as f (f) where e.payload @> f.f))
    offset 0
  ) x
  group by e.env, x.id
)
select u.id, u.scope, u.env, nullif(u.stack, '') as stack, u.event, u.program, u.queue,
  nullif(u.version, '') as version, u.filters as "where", u.subject::json, u.debounce_ms as "debounceMs",
  case u.lifetime
    when 'timed' then json_build_object('forMs', coalesce(u.key_ms, 0))
    else to_json(u.lifetime) end as lifetime,
  u.crash_limit as "crashLimit",
  case
    when u.threshold is not null then json_build_object(
      'threshold', u.threshold, 'halfOpenMs', coalesce(u.half_open_ms, 0)
    ) end as breaker,
  m.ords, coalesce(g.limits, '[]')::json as limits
from m
cross join lateral (select * from "holdfast".subscriptions u where u.env = m.env and u.id = m.id limit 1) u
left join lateral (
  select limits
  from "holdfast".claim_groups g
  where (g.env, g.stack, g.queue, g.program, g.version) = (u.env, u.stack, u.queue, u.program, u.version)
  limit 1
) g on true
order by u.id;

-- next_due · run/next-due.ts
-- Finds out when the next run of some groups is due.
with paused as materialized (
  select c.id
  from "holdfast".paused_queues p
  cross join lateral (
    select id
    from "holdfast".claim_groups c
    where c.env = p.env and c.queue = p.queue
    offset 0
  ) c
)
select ceil(extract(epoch from min(x.at) - clock_timestamp()) * 1000)::float8 as in_ms
from unnest((select $1::int[])) as g (id)
cross join lateral (
  with recursive step(priority, at, n) as (
    (
      select priority, available_at, 1
      from "holdfast".runs r
      where r.state = 'waiting'
        and r.claim_group = g.id
        and r.available_at > (
          select coalesce(clock_timestamp() - ($2::float8) * interval '1 millisecond', '-infinity')
        )
      order by priority, available_at
      limit 1
    )
    union all
    select r.priority, r.available_at, step.n + 1
    from step
    cross join lateral (
      select priority, available_at
      from "holdfast".runs r
      where r.state = 'waiting'
        and r.claim_group = g.id
        and r.priority > step.priority
        and r.available_at > (
          select coalesce(clock_timestamp() - ($2::float8) * interval '1 millisecond', '-infinity')
        )
      order by r.priority, r.available_at
      limit 1
    ) r
    where step.n < 20
  )
  select min(at) as at
  from step
) x
where g.id <> all (array (select id from paused));

-- next_lines · limit/admit-runs.ts
-- Finds the next limit keys in which runs wait.
with recursive place as materialized (
  select coalesce((select value from "holdfast".meta where key = $2 || ' limit_place'), $2 || '/') as at
),
step(key, n) as (
  (
    select key, 1
    from "holdfast".run_limits
    where state = 'waits' and key > (select at from place) and key < $2 || '0'
    order by key
    limit 1
  )
  union all
  select l.key, step.n + 1
  from step
  cross join lateral (
    select key
    from "holdfast".run_limits l
    where state = 'waits' and l.key > step.key and l.key < $2 || '0'
    order by l.key
    limit 1
  ) l
  where step.n < $1
),
further as materialized (select coalesce((select key from step where n = $1), $2 || '/') as at),
noted as materialized (
  select key
  from "holdfast".meta
  where key = $2 || ' limit_place'
  for no key update skip locked
),
moved as (
  update "holdfast".meta m
  set value = f.at
  from noted k, further f, place p
  where m.key = k.key and f.at <> p.at
),
first as (
  insert into "holdfast".meta (key, value)
  select $2 || ' limit_place', f.at
  from further f, place p
  where f.at <> p.at and not exists (select from "holdfast".meta where key = $2 || ' limit_place')
  on conflict do nothing
)
select key
from step
order by n;

-- note_problem · machine/machines.ts
-- Stores the problem that stopped an instance.
update "holdfast".instances
set problem = $3
where key = $1 and seq = $2 and problem is distinct from $3
returning key;

-- older_definitions · definition/definitions.ts
-- Lists older versions of definitions that waiting runs still need.
select h.env, h.kind, h.name, h.version, h.body
from "holdfast".definition_versions h
left join lateral (
  select d.version, v.programs
  from "holdfast".definitions d
  join "holdfast".definition_versions v using (env, kind, name, version)
  where (d.env, d.kind, d.name) = (h.env, h.kind, h.name)
) c on true
where h.env = $1
  and h.version is distinct from c.version
  and exists (
    select
    from "holdfast".claim_groups g
    cross join lateral (
      select
      from "holdfast".runs r
      where r.claim_group = g.id and r.state = 'waiting'
      limit 1
    ) r
    where g.env = h.env
      and g.program = any (h.programs)
      and (g.version = h.version::text or (g.version = '' and g.program <> all (coalesce(c.programs, '{}'))))
  )
order by h.kind collate "C", h.name collate "C", h.version;

-- open_questions, the first page · view/histories.ts
-- Lists the approvals that runs of an env ask for and that are not decided.
select r.id as run_id, g.program, g.stack, r.base_seq, j.seq, j.epoch, j.kind, j.name, j.key, j.codec,
  j.data, floor(extract(epoch from j.at) * 1000)::float8 as at
from "holdfast".runs r
cross join lateral (
  select g.program, g.stack
  from "holdfast".claim_groups g
  where g.id = r.claim_group and g.env = $1
  limit 1
) g
cross join lateral (
  select j.*
  from "holdfast".journal j
  where j.run_id = r.id and j.kind = 'approval.begun' and j.seq > r.base_seq
  offset 0
) j
cross join lateral (
  select 'wait:' || j.name || ':' || j.key || case
    when r.base_seq = 0 then ''
    else '@' || r.base_seq end as wait_key
) k
where r.asks
  and r.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
  and not exists (select from "holdfast".inbox i where i.run_id = r.id and i.key = k.wait_key offset 0)
  and not exists (
    select
    from "holdfast".journal t
    where t.run_id = r.id
      and t.seq > j.seq
      and (t.kind = 'take' and t.key = k.wait_key or t.kind = 'retried' and t.data is not null)
    offset 0
  )
order by r.id desc, j.seq desc
limit $2;

-- open_questions, the next page · view/histories.ts
-- Lists the approvals that runs of an env ask for and that are not decided.
select r.id as run_id, g.program, g.stack, r.base_seq, j.seq, j.epoch, j.kind, j.name, j.key, j.codec,
  j.data, floor(extract(epoch from j.at) * 1000)::float8 as at
from "holdfast".runs r
cross join lateral (
  select g.program, g.stack
  from "holdfast".claim_groups g
  where g.id = r.claim_group and g.env = $1
  limit 1
) g
cross join lateral (
  select j.*
  from "holdfast".journal j
  where j.run_id = r.id and j.kind = 'approval.begun' and j.seq > r.base_seq
  offset 0
) j
cross join lateral (
  select 'wait:' || j.name || ':' || j.key || case
    when r.base_seq = 0 then ''
    else '@' || r.base_seq end as wait_key
) k
where r.asks
  and r.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
  and r.id <= $3::uuid
  and (r.id, j.seq) < ($3::uuid, $4::bigint)
  and not exists (select from "holdfast".inbox i where i.run_id = r.id and i.key = k.wait_key offset 0)
  and not exists (
    select
    from "holdfast".journal t
    where t.run_id = r.id
      and t.seq > j.seq
      and (t.kind = 'take' and t.key = k.wait_key or t.kind = 'retried' and t.data is not null)
    offset 0
  )
order by r.id desc, j.seq desc
limit $2;

-- outline_journals · view/histories.ts
-- Reads journals without payloads, together with the states of their runs.
select w.ord::int, r.state, r.seq as run_seq, r.base_seq, r.held_key, j.seq, j.epoch, j.kind, j.name, j.key,
  j.codec, j.bytes, j.at
from unnest(
  (select $1::uuid[]), (select $2::bigint[]), (select $3::bigint[]), (select $4::bigint[]),
    (select $5::bool[])
) with ordinality as w (run_id, after_seq, before_seq, most, backwards, ord)
cross join lateral (
  select r.state, r.seq, r.base_seq,
    (
      select k.key
      from "holdfast".run_keys k
      where k.hash = r.key_hash and k.run_id = r.id
      limit 1
    ) as held_key,
    coalesce(w.after_seq, r.base_seq) as low, least(w.before_seq - 1, r.seq) as high
  from "holdfast".runs r
  where r.id = w.run_id
  limit 1
) r
left join lateral (
  select j.seq, j.epoch, j.kind, j.name, j.key, j.codec, octet_length(j.data) as bytes,
    floor(extract(epoch from j.at) * 1000)::float8 as at
  from "holdfast".journal j
  where j.run_id = w.run_id and j.seq > case
    when w.backwards then greatest(r.low, r.high - w.most)
    else r.low end and j.seq <= case
    when w.backwards then r.high
    else least(r.high, r.low + w.most) end
) j on true
order by w.ord, j.seq;

-- owns_lease · lease/leases.ts
-- Checks that a token still holds a lease.
select key
from "holdfast".leases
where env = $1 and key = $2 and epoch = $3 and token = $4 and lease_until > clock_timestamp();

-- pause_queue · limit/queues.ts
-- Pauses a queue.
insert into "holdfast".paused_queues (env, queue, at, by)
values ($1, $2, clock_timestamp(), $3)
on conflict do nothing;

-- pause_run · run/pause-run.ts
-- Pauses a run and its tasks, or asks their holders to.
with recursive tree(id, parent) as (
  select x.id, null::uuid
  from (select $1::uuid) as x (id)
  union all
  select j.key::uuid, tree.id
  from tree
  cross join lateral (select base_seq from "holdfast".runs r where r.id = tree.id limit 1) r
  cross join lateral (
    select key
    from "holdfast".journal j
    where j.run_id = tree.id and j.seq > r.base_seq and j.kind = 'task'
    offset 0
  ) j
),
seen as materialized (
  select r.id, r.seq
  from "holdfast".runs r
  where r.id = any (array (select id from tree))
),
l as materialized (
  select r.id, r.state, r.pausing, r.seq
  from "holdfast".runs r
  where r.id = any (array (select id from tree))
  order by r.id
  for no key update
),
moved as materialized (select l.id from l join seen on seen.id = l.id where l.seq <> seen.seq),
t as materialized (select clock_timestamp() as now),
p as (
  update "holdfast".runs r
  set state = case when l.state = 'running' then r.state else 'paused' end,
    pausing = l.state = 'running',
    wake_at = null,
    ended_at = null,
    inbox_seq = r.inbox_seq + (l.state = 'running')::int,
    seq = r.seq + (l.id = $1 and l.state <> 'running')::int
  from l
  where r.id = l.id
    and l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and l.state <> 'paused'
    and not l.pausing
    and exists (
      select
      from l root
      where root.id = $1 and root.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    )
  returning r.id, r.state, r.seq, r.inbox_seq, r.limited
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, at)
  select id, seq, 0, 'paused', $2, t.now
  from p, t
  where id = $1 and state = 'paused'
),
asked as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select id, 'pause:' || inbox_seq, id, 'pause', 'pause', $2, t.now
  from p, t
  where state = 'running'
  returning run_id
)
select (select state from l where id = $1) as state,
  exists (select from l where state = 'running') as running,
  array (select id from p where limited and state = 'paused') as left_lines,
  array (select run_id from asked) as asked, exists (select from moved) as moved;

-- pause_schedules · schedule/schedules.ts
-- Pauses schedules.
with paused as (
  update "holdfast".schedules
  set paused_at = clock_timestamp(), paused_by = $3
  where env = $1 and (program = $2 or id::text = $2) and paused_at is null
)
select count(*)::int as n
from "holdfast".schedules
where env = $1 and (program = $2 or id::text = $2);

-- peek_journals · journal/peek-journals.ts
-- Reads the input or the end of each of several runs.
select w.ord::int, r.state, j.seq, j.epoch, j.kind, j.name, j.key, j.codec, j.data,
  floor(extract(epoch from j.at) * 1000)::float8 as at
from unnest((select $1::uuid[]), (select $2::bool[])) with ordinality as w (run_id, starts, ord)
cross join lateral (select state, seq, base_seq from "holdfast".runs r where r.id = w.run_id limit 1) r
left join lateral (
  select *
  from "holdfast".journal j
  where j.run_id = w.run_id and j.seq = case
    when w.starts then r.base_seq + 1
    when r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead') then r.seq end
  limit 1
) j on true;

-- probe_row_locks · examine.ts
-- Tries to skip locked rows.
select m.key
from "holdfast".meta m
limit 1
for no key update skip locked;

-- prune_instances · machine/machines.ts
-- Removes instances that ended long ago.
with found as materialized (
  select x.key
  from "holdfast".claim_groups g
  cross join lateral "holdfast".ended_instances(
    g.id, clock_timestamp() - ($2::float8) * interval '1 millisecond', $3
  ) x
  where g.env = $1
  order by x.ended_at, x.key
  limit $3
),
old as materialized (
  select i.key
  from "holdfast".instances i
  where i.key = any (array (select key from found))
  for update of i skip locked
),
gone as (delete from "holdfast".instances i where i.key = any (array (select key from old)) returning key),
events as (delete from "holdfast".instance_events e where e.instance = any (array (select key from gone))),
timers as (delete from "holdfast".timers x where x.instance = any (array (select key from gone)))
select count(*)::int as removed
from gone;

-- prune_runs · run/retain-runs.ts
-- Removes runs that ended a given time ago.
with found as materialized (
  select y.id
  from (
    select x.id, x.ended_at
    from "holdfast".claim_groups g
    cross join unnest(array[0, 1, 2]) as part (n)
    cross join lateral (
      select r.id, r.ended_at
      from "holdfast".runs r
      where r.claim_group = g.id
        and (
          case
            when r.archived_at is not null then 2
            when r.state in ('failed', 'dead', 'quarantined') then 1
            else 0 end
        ) = part.n
        and r.ended_at <= (select clock_timestamp()) - ($2::float8) * interval '1 millisecond'
        and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
        and ($4::text[] is null or r.state = any ($4))
        and not exists (
          select
          from "holdfast".runs p
          where p.id = r.parent_id
            and p.state not in ('completed', 'cancelled', 'skipped')
            and not (
              p.ended_at is not null
                and p.state in ('failed', 'dead')
                and p.ended_at <= (select clock_timestamp()) - ($2::float8) * interval '1 millisecond'
                and ($4::text[] is null or p.state = any ($4))
            )
        )
      order by r.ended_at, r.id
      limit (select $3::int)
    ) x
    where $7::uuid[] is null
      and g.env = $1
      and ($5::text is null or g.program = $5)
      and ($6::text is null or g.queue = $6)
    union all
    select r.id, r.ended_at
    from unnest($7::uuid[]) as named (id)
    cross join lateral (select * from "holdfast".runs r where r.id = named.id limit 1) r
    cross join lateral (select * from "holdfast".claim_groups g where g.id = r.claim_group limit 1) g
    where g.env = $1
      and ($5::text is null or g.program = $5)
      and ($6::text is null or g.queue = $6)
      and r.ended_at <= (select clock_timestamp()) - ($2::float8) * interval '1 millisecond'
      and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
      and ($4::text[] is null or r.state = any ($4))
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) in (0, 1, 2)
      and not exists (
        select
        from "holdfast".runs p
        where p.id = r.parent_id
          and p.state not in ('completed', 'cancelled', 'skipped')
          and not (
            p.ended_at is not null
              and p.state in ('failed', 'dead')
              and p.ended_at <= (select clock_timestamp()) - ($2::float8) * interval '1 millisecond'
              and ($4::text[] is null or p.state = any ($4))
          )
      )
  ) y
  order by y.ended_at, y.id
  limit $3
),
old as materialized (
  select r.id
  from "holdfast".runs r
  where r.id = any (array (select id from found))
    and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
  for no key update of r skip locked
),
gone as (
  delete from "holdfast".runs r
  where r.id = any (array (select id from old))
    and r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
  returning r.id, r.key_hash
),
journal as (delete from "holdfast".journal j where j.run_id = any (array (select id from gone))),
taken as (delete from "holdfast".reclaimed_claims k where k.run_id = any (array (select id from gone))),
deferred as (delete from "holdfast".deferred_runs f where f.run_id = any (array (select id from gone))),
needs as (delete from "holdfast".run_needs n where n.need_id = any (array (select id from gone))),
misfits as (delete from "holdfast".misfit_runs m where m.run_id = any (array (select id from gone))),
attributes as (delete from "holdfast".run_attributes a where a.run_id = any (array (select id from gone))),
limits as (delete from "holdfast".run_limits l where l.run_id = any (array (select id from gone))),
tries as materialized (
  select p.env, p.program, p.opening, p.n
  from "holdfast".breaker_probes p
  where p.env = $1
    and p.at <= clock_timestamp() - (greatest($2::float8, 10000)) * interval '1 millisecond'
    and (
      ((p.run_id in (select id from gone)) is not false)
        or not exists (select from "holdfast".runs r where r.id = p.run_id)
    )
  order by p.at, p.run_id
  limit $3
  for update skip locked
),
probes as (
  delete from "holdfast".breaker_probes p using tries x
  where (p.env, p.program, p.opening, p.n) = (x.env, x.program, x.opening, x.n)
),
inbox as (delete from "holdfast".inbox i where i.run_id = any (array (select id from gone))),
held as materialized (
  select k.hash
  from (select id, key_hash from gone where key_hash is not null order by key_hash) g
  cross join lateral (
    select k.hash
    from "holdfast".run_keys k
    where k.hash = g.key_hash
      and k.run_id = g.id
      and not (k.lifetime = 'timed' and k.expires_at > clock_timestamp())
    for update
  ) k
),
keys as (delete from "holdfast".run_keys k where k.hash = any (array (select hash from held))),
past as materialized (
  select r.key
  from "holdfast".limit_rates r
  where r.key >= $1 || '/' and r.key < $1 || '0' and r.next_at <= clock_timestamp()
  limit $3
  for update skip locked
),
rates as (delete from "holdfast".limit_rates r where r.key = any (array (select key from past)))
select (select count(*) from gone)::int as removed
where set_config('synchronous_commit', 'off', true) = 'off';

-- put_kept_values · kept/kept.ts
-- Writes and removes kept values, under a claim if one is given.
with t as materialized (select clock_timestamp() as now),
held as materialized (
  select r.id
  from "holdfast".runs r
  where r.id = $1 and r.epoch = $2 and r.token = $3
  for share
),
allowed as materialized (select $1::uuid is null or exists (select from held) as is_allowed),
given as materialized (
  select w.*
  from unnest(
    (select $4::text[]), (select $5::text[]), (select $6::text[]), (select $7::text[]), (select $8::text[]),
      (select $9::float8[])
  ) as w(env, space, key, codec, data, ttl_ms),
    allowed
  where allowed.is_allowed
),
removed as (
  delete from "holdfast".kept_values v
  where v.ctid = any (
    array (
      select x.ctid
      from given w
      cross join lateral (
        select k.ctid
        from "holdfast".kept_values k
        where k.env = w.env and k.space = w.space and k.key = w.key
        for update
        offset 0
      ) x
      where w.data is null
    )
  )
),
written as (
  insert into "holdfast".kept_values (env, space, key, codec, data, at, until)
  select w.env, w.space, w.key, w.codec, w.data, t.now, t.now + (w.ttl_ms) * interval '1 millisecond'
  from given w, t
  where w.data is not null
  on conflict (env, space, key) do update set codec = excluded.codec, data = excluded.data,
    at = excluded.at, until = excluded.until
)
select is_allowed as allowed
from allowed;

-- read_breakers · limit/breakers.ts
-- Reads the state of circuit breakers from how runs have ended.
select b.failures, b.opening, b.failures >= q.threshold as open,
  b.last_at + (q.half_open_ms) * interval '1 millisecond' <= clock_timestamp() as due, p.n,
  case
    when p.n is null then true
    when r.state is null then p.at <= clock_timestamp() - interval '10000 milliseconds'
    else r.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead') end as free
from unnest(
  (select $1::text[]), (select $2::text[]), (select $3::int[]), (select $4::float8[])
) with ordinality as q (env, program, threshold, half_open_ms, ord)
cross join lateral (
  select array (
    select g.id
    from "holdfast".claim_groups g
    where g.env = q.env and g.program = q.program
  ) as ids
) g
cross join lateral (
  select coalesce(max(x.ended_at), '-infinity') as at
  from unnest(g.ids) as i (id)
  cross join lateral (
    select r.ended_at
    from "holdfast".runs r
    where r.claim_group = i.id
      and (
        case
          when r.archived_at is not null then 2
          when r.state in ('failed', 'dead', 'quarantined') then 1
          else 0 end
      ) = 0
      and r.ended_at > '-infinity'
      and r.state = 'completed'
    order by r.ended_at desc, r.id desc
    limit 1
  ) x
) good
cross join lateral (
  select count(*)::int as failures, max(y.ended_at) as last_at,
    (array_agg(y.id || ':' || y.generation order by y.ended_at desc, y.id desc))[1] as opening
  from (
    select x.*
    from unnest(g.ids) as i (id)
    cross join lateral "holdfast".last_failures(i.id, good.at, q.threshold) x
    order by x.ended_at desc, x.id desc
    limit q.threshold
  ) y
) b
left join lateral (
  select p.n, p.at, p.run_id
  from "holdfast".breaker_probes p
  where p.env = q.env and p.program = q.program and p.opening = b.opening
  order by p.n desc
  limit 1
) p on true
left join lateral (select r.state from "holdfast".runs r where r.id = p.run_id limit 1) r on true
order by q.ord;

-- read_claims · claim/read-claims.ts
-- Lists the claims that a run has had, the latest first.
with wrote as materialized (
  select distinct on (j.epoch) j.epoch, j.token
  from "holdfast".journal j
  where j.run_id = $1 and j.token is not null
  order by j.epoch desc
  limit $2
),
taken as materialized (
  select k.epoch, k.owner, k.by, k.outcome, k.at, k.refused
  from "holdfast".reclaimed_claims k
  where k.run_id = $1
  order by k.epoch desc
  limit $2
),
held as materialized (select r.epoch, r.owner from "holdfast".runs r where r.id = $1 and r.owner is not null),
epochs as (
  select epoch
  from wrote
  union
  select epoch
  from taken
  union
  select epoch
  from held
  order by 1 desc
  limit $2
),
claims as materialized (
  select e.epoch, k.by, k.outcome, k.refused, floor(extract(epoch from k.at) * 1000)::float8 as at,
    coalesce(
      h.owner, k.owner,
        (
          select n.incarnation
          from "holdfast".nodes n
          where right(n.incarnation::text, 17) = right(w.token::text, 17)
          limit 1
        )
    ) as owner
  from epochs e
  left join wrote w using (epoch)
  left join taken k using (epoch)
  left join held h using (epoch)
)
select c.epoch::float8,
  (
    select json_build_object('incarnation', c.owner, 'identity', max(n.identity), 'name', max(n.name))
    from "holdfast".nodes n
    where n.incarnation = c.owner having c.owner is not null
  ) as holder,
  case
    when c.outcome is not null then json_build_object(
      'at', c.at, 'by',
        (
          select json_build_object('incarnation', c.by, 'identity', max(n.identity), 'name', max(n.name))
          from "holdfast".nodes n
          where n.incarnation = c.by having c.by is not null
        ),
        'outcome', c.outcome, 'refused', c.refused
    ) end as reclaimed
from claims c
order by c.epoch;

-- read_instance_events · machine/machines.ts
-- Reads the events of an instance after a sequence.
select seq, kind, name, key, codec, data, by, floor(extract(epoch from at) * 1000)::float8 as at
from "holdfast".instance_events
where instance = $1 and seq > $2
order by seq
limit $3;

-- read_journal · journal/read-journal.ts
-- Reads a run's journal together with its state.
with r as materialized (select id, seq, base_seq from "holdfast".runs where id = $1)
select r.seq as run_seq, r.base_seq, j.seq, j.epoch, j.kind, j.name, j.key, j.codec, j.data,
  floor(extract(epoch from j.at) * 1000)::float8 as at
from r
left join lateral (
  select *
  from "holdfast".journal j
  where j.run_id = r.id and j.seq > greatest($2::bigint, r.base_seq) and j.seq <= r.seq
  order by j.seq
  limit $3
) j on true
order by j.seq;

-- read_limits · limit/program-limits.ts
-- Reads the limits that are declared for a claim group.
select limits::json
from "holdfast".claim_groups
where id = $1;

-- read_program_figures, of an env · statistic/statistics.ts
-- Reads the sums of each program over a time.
select f.program, sum(f.started)::int as started, sum(f.completed)::int as completed,
  sum(f.failed)::int as failed, sum(f.dead)::int as dead, sum(f.cancelled)::int as cancelled,
  sum(f.skipped)::int as skipped, array[sum(f.durations[1])::int, sum(f.durations[2])::int,
  sum(f.durations[3])::int, sum(f.durations[4])::int, sum(f.durations[5])::int, sum(f.durations[6])::int,
  sum(f.durations[7])::int, sum(f.durations[8])::int, sum(f.durations[9])::int, sum(f.durations[10])::int,
  sum(f.durations[11])::int, sum(f.durations[12])::int, sum(f.durations[13])::int,
  sum(f.durations[14])::int] as durations
from "holdfast".run_figures f
where f.env = $1
  and f.step_ms in (10000, 60000, 3600000)
  and f.at >= to_timestamp($2::float8 / 1000)
  and f.at < to_timestamp($3::float8 / 1000)
  and f.program <> ''
group by 1
order by 1;

-- read_queue_figures, of an env · statistic/statistics.ts
-- Reads depths over time.
select floor(
  extract(epoch from date_bin($4::int * interval '1 millisecond', f.at, timestamptz 'epoch')) * 1000
)::float8 as at,
  max(f.waiting) as waiting, max(f.running) as running, max(f.parked) as parked, max(f.held) as held,
  max(f.oldest_ms)::float8 as "oldestMs"
from "holdfast".queue_figures f
where f.env = $1
  and f.step_ms in (10000, 60000, 3600000)
  and f.at >= to_timestamp($2::float8 / 1000)
  and f.at < to_timestamp($3::float8 / 1000)
  and f.queue = $5
group by 1
order by 1;

-- read_queue_figures, of a program and a queue · statistic/statistics.ts
-- Reads depths over time.
select floor(
  extract(epoch from date_bin($4::int * interval '1 millisecond', f.at, timestamptz 'epoch')) * 1000
)::float8 as at,
  max(f.waiting) as waiting, max(f.running) as running, max(f.parked) as parked, max(f.held) as held,
  max(f.oldest_ms)::float8 as "oldestMs"
from "holdfast".queue_figures f
where f.env = $1
  and f.step_ms in (10000, 60000, 3600000)
  and f.at >= to_timestamp($2::float8 / 1000)
  and f.at < to_timestamp($3::float8 / 1000)
  and f.queue = $5
group by 1
order by 1;

-- read_run_figures, of an env · statistic/statistics.ts
-- Reads starts and ends over time.
select floor(
  extract(epoch from date_bin($4::int * interval '1 millisecond', f.at, timestamptz 'epoch')) * 1000
)::float8 as at,
  sum(f.started)::int as started, sum(f.completed)::int as completed, sum(f.failed)::int as failed,
  sum(f.dead)::int as dead, sum(f.cancelled)::int as cancelled, sum(f.skipped)::int as skipped,
  array[sum(f.durations[1])::int, sum(f.durations[2])::int, sum(f.durations[3])::int,
  sum(f.durations[4])::int, sum(f.durations[5])::int, sum(f.durations[6])::int, sum(f.durations[7])::int,
  sum(f.durations[8])::int, sum(f.durations[9])::int, sum(f.durations[10])::int, sum(f.durations[11])::int,
  sum(f.durations[12])::int, sum(f.durations[13])::int, sum(f.durations[14])::int] as durations
from "holdfast".run_figures f
where f.env = $1
  and f.step_ms in (10000, 60000, 3600000)
  and f.at >= to_timestamp($2::float8 / 1000)
  and f.at < to_timestamp($3::float8 / 1000)
  and f.program = ''
group by 1
order by 1;

-- read_run_figures, of a program and a queue · statistic/statistics.ts
-- Reads starts and ends over time.
select floor(
  extract(epoch from date_bin($4::int * interval '1 millisecond', f.at, timestamptz 'epoch')) * 1000
)::float8 as at,
  sum(f.started)::int as started, sum(f.completed)::int as completed, sum(f.failed)::int as failed,
  sum(f.dead)::int as dead, sum(f.cancelled)::int as cancelled, sum(f.skipped)::int as skipped,
  array[sum(f.durations[1])::int, sum(f.durations[2])::int, sum(f.durations[3])::int,
  sum(f.durations[4])::int, sum(f.durations[5])::int, sum(f.durations[6])::int, sum(f.durations[7])::int,
  sum(f.durations[8])::int, sum(f.durations[9])::int, sum(f.durations[10])::int, sum(f.durations[11])::int,
  sum(f.durations[12])::int, sum(f.durations[13])::int, sum(f.durations[14])::int] as durations
from "holdfast".run_figures f
where f.env = $1
  and f.step_ms in (10000, 60000, 3600000)
  and f.at >= to_timestamp($2::float8 / 1000)
  and f.at < to_timestamp($3::float8 / 1000)
  and f.program <> ''
  and f.program = $5
  and f.queue = $6
group by 1
order by 1;

-- read_schema_state · migrate.ts
-- Reads which migrations a schema has.
select (select coalesce(max(version), 0) from "holdfast".migrations) as version,
  (select value from "holdfast".meta where key = 'oldest_package') as oldest;

-- read_server · examine.ts
-- Reads version, settings and connections of the server.
select current_setting('server_version_num')::int as version,
  current_setting('server_version') as version_text,
  current_setting('synchronous_commit') as synchronous_commit, pg_is_in_recovery() as is_replica,
  floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
  current_setting('max_connections')::int as most,
  (
    select max(extract(epoch from clock_timestamp() - x.since) * 1000)::float8
    from (
      select a.xact_start as since
      from pg_stat_activity a
      where a.backend_xmin is not null and a.pid <> pg_backend_pid()
      union all
      select p.prepared
      from pg_prepared_xacts p
    ) x
  ) as oldest;

-- read_table_health · examine.ts
-- Reads live and dead rows of each table, and indexes that are not valid.
select t.relname as "table", t.n_live_tup::float8 as live, t.n_dead_tup::float8 as dead,
  pg_total_relation_size(t.relid)::float8 as bytes,
  array (
    select i.indexrelid::regclass::text
    from pg_index i
    where i.indrelid = t.relid and not i.indisvalid
  ) as invalid
from pg_stat_user_tables t
where t.schemaname = 'holdfast'
order by 4 desc;

-- read_timers · machine/machines.ts
-- Lists the timers of an instance.
select x.id as timer_id, x.instance as "instanceKey", x.generation::float8, x.kind, x.name as timer_name,
  x.codec as timer_codec, x.data as timer_data, floor(extract(epoch from x.due_at) * 1000)::float8 as "dueAt",
  floor(extract(epoch from greatest(x.try_at, x.claimed_until)) * 1000)::float8 as "tryAt", x.attempts,
  x.state, x.problem as timer_problem
from "holdfast".timers x
where x.instance = $1
order by x.due_at, x.id;

-- reclaim_claims_of · node/nodes.ts
-- Reclaims what earlier incarnations of a node held.
with t as materialized (select clock_timestamp() as now),
expired as materialized (
  select r.id, r.epoch, r.owner, r.lease_until, r.base_seq, r.crashes, r.crash_limit, r.counts, r.pausing,
    r.pending, true as gone,
    coalesce(
      r.recovery, (select g.recovery from "holdfast".claim_groups g where g.id = r.claim_group)
    ) as policy
  from "holdfast".runs r
  where true and r.state = 'running' and r.owner = any ($1::uuid[])
  order by r.lease_until, r.id
  limit $2
  for no key update skip locked
),
judged as materialized (
  select x.id, x.epoch, x.owner, x.lease_until, x.base_seq, x.counts, x.gone, x.forgiven, x.losses,
    x.verdict, x.crashes > 0 or x.verdict = 'restarted' as counted,
    case when x.verdict in ('restarted', 'dead') then x.worst else x.died end as crashes
  from (
    select x.*,
      case
        when x.policy = 'fail' and x.begun then 'failed'
        when (
          x.worst >= x.crash_limit
            and (
              x.crash_limit = 1
                or x.worst >= 2 * x.crash_limit
                or not coalesce(
                  (
                    select (
                      select true
                      from "holdfast".runs o
                      where o.state = 'running' and o.owner = x.owner and o.id <> x.id
                      limit 1
                    )
                      or (
                        select true
                        from "holdfast".reclaimed_claims k
                        where k.owner = x.owner
                          and k.run_id <> x.id
                          and k.at > t.now - (60000) * interval '1 millisecond'
                        limit 1
                      )
                    from "holdfast".nodes n
                    where n.incarnation = x.owner and n.lease_ms is not null
                    limit 1
                  ),
                    false
                )
            )
        ) then 'dead'
        when x.pausing then 'paused'
        when x.policy = 'restart' and x.begun and x.pending = 0 then 'restarted'
        else 'waiting' end as verdict
    from (
      select x.*, j.begun, c.forgiven, d.died, greatest(d.died, j.restarts + 1) as worst,
        coalesce(l.losses, 0) as losses
      from expired x
      left join lateral (
        select (j.key like 'debounce %') is not true as begun,
          case
            when x.policy = 'restart'
              and not x.counts
              and x.pending = 0 then (
                select count(*)::int
                from (
                  select k.owner, k.at
                  from "holdfast".reclaimed_claims k
                  where k.run_id = x.id and k.outcome = 'restarted'
                  order by k.epoch desc
                  limit (
                    select count(*)
                    from "holdfast".journal k
                    where k.run_id = x.id
                      and k.kind = 'start'
                      and k.seq > coalesce(
                        (
                          select max(m.seq)
                          from "holdfast".journal m
                          where m.run_id = x.id
                            and (m.kind = 'retried' or (m.kind = 'start' and m.name <> 'recovery'))
                        ),
                          0
                      )
                  )
                ) k
                where not coalesce(
                  (
                    select n.seen_at > k.at
                    from "holdfast".nodes n
                    where n.incarnation = k.owner and n.lease_ms is not null
                    limit 1
                  ),
                    false
                )
              ) end as restarts
        from "holdfast".journal j
        where x.policy in ('fail', 'restart') and j.run_id = x.id and j.seq = x.base_seq + 1
        limit 1
      ) j on true
      cross join lateral (
        select array (
          select k.epoch
          from (
            select *
            from "holdfast".reclaimed_claims k
            where k.run_id = x.id and k.counted and k.epoch < x.epoch
            order by k.epoch desc
            limit greatest(x.crashes - 1, 0)
          ) k
          where coalesce(
            (
              select n.seen_at > k.at
              from "holdfast".nodes n
              where n.incarnation = k.owner and n.lease_ms is not null
              limit 1
            ),
              false
          )
        ) as forgiven
      ) c
      cross join lateral (select x.crashes - cardinality(c.forgiven) as died) d
      left join lateral (
        select least(k.losses + 1, 6) as losses
        from "holdfast".reclaimed_claims k
        where k.run_id = x.id
          and k.epoch = x.epoch - 1
          and x.crashes > 0
          and coalesce(
            (
              select n.seen_at > k.at
              from "holdfast".nodes n
              where n.incarnation = k.owner and n.lease_ms is not null
              limit 1
            ),
              false
          )
      ) l on true
    ) x,
      t
  ) x
),
ending_tasks as (
  select id, epoch, gone, verdict, crashes
  from judged
  where counts and verdict in ('dead', 'failed')
),
free_limits as materialized (
  select l.run_id, l.stage
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from judged where verdict in ('dead', 'failed')))
  for no key update skip locked
),
free_mail as materialized (
  select i.run_id, i.key
  from "holdfast".inbox i
  where i.run_id = any (array (select id from judged where verdict not in ('waiting', 'paused')))
  for no key update skip locked
),
stuck as materialized (
  select l.run_id
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from judged where verdict in ('dead', 'failed')))
    and ((l.run_id, l.stage) not in (select run_id, stage from free_limits)) is not false
  union
  select i.run_id
  from "holdfast".inbox i
  where i.run_id = any (array (select id from judged where verdict not in ('waiting', 'paused')))
    and ((i.run_id, i.key) not in (select run_id, key from free_mail)) is not false
),
taken as materialized (
  select *
  from judged
  where not (counts and verdict in ('dead', 'failed'))
    and not ((id in (select run_id from stuck)) is not false)
),
reclaimed as (
  update "holdfast".runs r
  set state = case when e.verdict in ('restarted', 'paused') then 'waiting' else e.verdict end,
    seq = r.seq + (e.verdict not in ('waiting', 'paused'))::int,
    generation = r.generation + (e.verdict = 'restarted')::int,
    base_seq = case e.verdict when 'restarted' then r.seq else r.base_seq end,
    failures = case e.verdict when 'restarted' then 0 else r.failures end,
    crashes = e.crashes,
    available_at = case
      when e.losses > 0 then t.now + least(2 ^(e.losses - 1), 30) * interval '1 second'
      else r.available_at end,
    ended_at = case when e.verdict in ('dead', 'failed') then t.now end,
    token = null,
    owner = null,
    lease_until = null
  from unnest(
    array (select id from taken), array (select owner from taken), array (select lease_until from taken),
      array (select base_seq from taken), array (select verdict from taken),
      array (select crashes from taken), array (select counted from taken), array (select losses from taken)
  ) as e(id, owner, lease_until, base_seq, verdict, crashes, counted, losses),
    t
  where r.id = e.id and r.token is not null and r.owner = any ($1::uuid[])
  returning r.id as run_id, r.claim_group, r.state, r.seq, r.crashes, r.parent_id, r.epoch, e.owner,
    e.lease_until, e.base_seq, e.verdict, e.counted, e.losses
),
ended as (
  select run_id, parent_id, state, false as counted
  from reclaimed
  where verdict in ('dead', 'failed')
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, case verdict when 'restarted' then 'start' else verdict end,
    case verdict when 'restarted' then 'recovery' else '' end,
    case verdict when 'restarted' then j.codec else 'json' end,
    case verdict
      when 'restarted' then j.data
      else case verdict
      when 'failed' then '{"name":"RunOrphaned","message":"The node that worked on this run died, and its recovery policy is to fail.","code":"ORPHANED","details":{"previousOwner":"' || owner || '"}}'
      else '{"code":"CRASH_LIMIT","crashes":' || crashes || ',"holders":[' || (
        select string_agg(
          '{"epoch":' || h.epoch || ',"incarnation":"' || h.owner || '","node":' || coalesce(
            (select to_json(n.name)::text from "holdfast".nodes n where n.incarnation = h.owner), 'null'
          ) || '}',
            ','
          order by h.epoch
        )
        from (
          (
            select k.epoch, k.owner
            from "holdfast".reclaimed_claims k
            where k.run_id = reclaimed.run_id
              and k.epoch < reclaimed.epoch
              and k.counted
              and not coalesce(
                (
                  select n.seen_at > k.at
                  from "holdfast".nodes n
                  where n.incarnation = k.owner and n.lease_ms is not null
                  limit 1
                ),
                  false
              )
            order by k.epoch desc
            limit least(reclaimed.crashes, 20) - 1
          )
          union all
          select reclaimed.epoch, reclaimed.owner
        ) h
      ) || ']}' end end,
    t.now
  from reclaimed
  cross join t
  left join lateral (
    select codec, data
    from "holdfast".journal j
    where verdict = 'restarted' and j.run_id = reclaimed.run_id and j.seq = reclaimed.base_seq + 1
    limit 1
  ) j on true
  where verdict not in ('waiting', 'paused')
),
forgiven as (
  update "holdfast".reclaimed_claims k
  set counted = false
  from (select id, unnest(forgiven) as epoch from taken where forgiven <> '{}') e
  where k.run_id = e.id
    and k.epoch = e.epoch
    and k.run_id = any (array (select id from taken where forgiven <> '{}'))
),
noted as (
  insert into "holdfast".reclaimed_claims (run_id, epoch, owner, by, outcome, at, counted, losses)
  select run_id, epoch, owner, $3::uuid, verdict, t.now, counted, losses
  from reclaimed, t
  on conflict do nothing
),
reopened as (
  update "holdfast".inbox i
  set taken_seq = null
  where i.run_id = any (array (select run_id from reclaimed where verdict = 'restarted'))
    and i.taken_seq > (select base_seq from reclaimed where run_id = i.run_id)
),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
)
select run_id, case state when 'waiting' then claim_group end as claim_group, verdict, owner, epoch,
  crashes, floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  (
    select case when n.alone then null else n.lease_ms::float8 end
    from "holdfast".nodes n
    where n.incarnation = x.owner
  ) as lease_ms,
  (select n.identity from "holdfast".nodes n where n.incarnation = x.owner) as identity,
  (select n.name from "holdfast".nodes n where n.incarnation = x.owner) as name, null::uuid as notified,
  null::uuid as ending_task, null::boolean as gone
from (select * from reclaimed order by lease_until, run_id) x, t
union all
select null, null, null, null, null, null, null, null, null, null, run_id, null, null
from notified
union all
select null, null, verdict, null, epoch, crashes, null, null, null, null, null, id, gone
from ending_tasks;

-- reclaim_expired · claim/reclaim-expired.ts
-- Reclaims every claim of an env whose lease has expired, on request.
with t as materialized (select clock_timestamp() as now),
expired as materialized (
  select r.id, r.epoch, r.owner, r.lease_until, r.base_seq, r.crashes, r.crash_limit, r.counts, r.pausing,
    r.pending, false as gone,
    coalesce(
      r.recovery, (select g.recovery from "holdfast".claim_groups g where g.id = r.claim_group)
    ) as policy
  from "holdfast".runs r
  where (select g.env from "holdfast".claim_groups g where g.id = r.claim_group) = $2::text
    and r.state = 'running'
    and r.lease_until <= (select clock_timestamp())
  order by r.lease_until, r.id
  limit $1
  for no key update skip locked
),
judged as materialized (
  select x.id, x.epoch, x.owner, x.lease_until, x.base_seq, x.counts, x.gone, x.forgiven, x.losses,
    x.verdict, x.crashes > 0 or x.verdict = 'restarted' as counted,
    case when x.verdict in ('restarted', 'dead') then x.worst else x.died end as crashes
  from (
    select x.*,
      case
        when x.policy = 'fail' and x.begun then 'failed'
        when (
          x.worst >= x.crash_limit
            and (
              x.crash_limit = 1
                or x.worst >= 2 * x.crash_limit
                or not coalesce(
                  (
                    select (
                      select true
                      from "holdfast".runs o
                      where o.state = 'running' and o.owner = x.owner and o.id <> x.id
                      limit 1
                    )
                      or (
                        select true
                        from "holdfast".reclaimed_claims k
                        where k.owner = x.owner
                          and k.run_id <> x.id
                          and k.at > t.now - (60000) * interval '1 millisecond'
                        limit 1
                      )
                    from "holdfast".nodes n
                    where n.incarnation = x.owner and n.lease_ms is not null
                    limit 1
                  ),
                    false
                )
            )
        ) then 'dead'
        when x.pausing then 'paused'
        when x.policy = 'restart' and x.begun and x.pending = 0 then 'restarted'
        else 'waiting' end as verdict
    from (
      select x.*, j.begun, c.forgiven, d.died, greatest(d.died, j.restarts + 1) as worst,
        coalesce(l.losses, 0) as losses
      from expired x
      left join lateral (
        select (j.key like 'debounce %') is not true as begun,
          case
            when x.policy = 'restart'
              and not x.counts
              and x.pending = 0 then (
                select count(*)::int
                from (
                  select k.owner, k.at
                  from "holdfast".reclaimed_claims k
                  where k.run_id = x.id and k.outcome = 'restarted'
                  order by k.epoch desc
                  limit (
                    select count(*)
                    from "holdfast".journal k
                    where k.run_id = x.id
                      and k.kind = 'start'
                      and k.seq > coalesce(
                        (
                          select max(m.seq)
                          from "holdfast".journal m
                          where m.run_id = x.id
                            and (m.kind = 'retried' or (m.kind = 'start' and m.name <> 'recovery'))
                        ),
                          0
                      )
                  )
                ) k
                where not coalesce(
                  (
                    select n.seen_at > k.at
                    from "holdfast".nodes n
                    where n.incarnation = k.owner and n.lease_ms is not null
                    limit 1
                  ),
                    false
                )
              ) end as restarts
        from "holdfast".journal j
        where x.policy in ('fail', 'restart') and j.run_id = x.id and j.seq = x.base_seq + 1
        limit 1
      ) j on true
      cross join lateral (
        select array (
          select k.epoch
          from (
            select *
            from "holdfast".reclaimed_claims k
            where k.run_id = x.id and k.counted and k.epoch < x.epoch
            order by k.epoch desc
            limit greatest(x.crashes - 1, 0)
          ) k
          where coalesce(
            (
              select n.seen_at > k.at
              from "holdfast".nodes n
              where n.incarnation = k.owner and n.lease_ms is not null
              limit 1
            ),
              false
          )
        ) as forgiven
      ) c
      cross join lateral (select x.crashes - cardinality(c.forgiven) as died) d
      left join lateral (
        select least(k.losses + 1, 6) as losses
        from "holdfast".reclaimed_claims k
        where k.run_id = x.id
          and k.epoch = x.epoch - 1
          and x.crashes > 0
          and coalesce(
            (
              select n.seen_at > k.at
              from "holdfast".nodes n
              where n.incarnation = k.owner and n.lease_ms is not null
              limit 1
            ),
              false
          )
      ) l on true
    ) x,
      t
  ) x
),
ending_tasks as (
  select id, epoch, gone, verdict, crashes
  from judged
  where counts and verdict in ('dead', 'failed')
),
free_limits as materialized (
  select l.run_id, l.stage
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from judged where verdict in ('dead', 'failed')))
  for no key update skip locked
),
free_mail as materialized (
  select i.run_id, i.key
  from "holdfast".inbox i
  where i.run_id = any (array (select id from judged where verdict not in ('waiting', 'paused')))
  for no key update skip locked
),
stuck as materialized (
  select l.run_id
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from judged where verdict in ('dead', 'failed')))
    and ((l.run_id, l.stage) not in (select run_id, stage from free_limits)) is not false
  union
  select i.run_id
  from "holdfast".inbox i
  where i.run_id = any (array (select id from judged where verdict not in ('waiting', 'paused')))
    and ((i.run_id, i.key) not in (select run_id, key from free_mail)) is not false
),
taken as materialized (
  select *
  from judged
  where not (counts and verdict in ('dead', 'failed'))
    and not ((id in (select run_id from stuck)) is not false)
),
reclaimed as (
  update "holdfast".runs r
  set state = case when e.verdict in ('restarted', 'paused') then 'waiting' else e.verdict end,
    seq = r.seq + (e.verdict not in ('waiting', 'paused'))::int,
    generation = r.generation + (e.verdict = 'restarted')::int,
    base_seq = case e.verdict when 'restarted' then r.seq else r.base_seq end,
    failures = case e.verdict when 'restarted' then 0 else r.failures end,
    crashes = e.crashes,
    available_at = case
      when e.losses > 0 then t.now + least(2 ^(e.losses - 1), 30) * interval '1 second'
      else r.available_at end,
    ended_at = case when e.verdict in ('dead', 'failed') then t.now end,
    token = null,
    owner = null,
    lease_until = null
  from unnest(
    array (select id from taken), array (select owner from taken), array (select lease_until from taken),
      array (select base_seq from taken), array (select verdict from taken),
      array (select crashes from taken), array (select counted from taken), array (select losses from taken)
  ) as e(id, owner, lease_until, base_seq, verdict, crashes, counted, losses),
    t
  where r.id = e.id and r.token is not null and r.lease_until <= t.now
  returning r.id as run_id, r.claim_group, r.state, r.seq, r.crashes, r.parent_id, r.epoch, e.owner,
    e.lease_until, e.base_seq, e.verdict, e.counted, e.losses
),
ended as (
  select run_id, parent_id, state, false as counted
  from reclaimed
  where verdict in ('dead', 'failed')
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, case verdict when 'restarted' then 'start' else verdict end,
    case verdict when 'restarted' then 'recovery' else '' end,
    case verdict when 'restarted' then j.codec else 'json' end,
    case verdict
      when 'restarted' then j.data
      else case verdict
      when 'failed' then '{"name":"RunOrphaned","message":"The node that worked on this run died, and its recovery policy is to fail.","code":"ORPHANED","details":{"previousOwner":"' || owner || '"}}'
      else '{"code":"CRASH_LIMIT","crashes":' || crashes || ',"holders":[' || (
        select string_agg(
          '{"epoch":' || h.epoch || ',"incarnation":"' || h.owner || '","node":' || coalesce(
            (select to_json(n.name)::text from "holdfast".nodes n where n.incarnation = h.owner), 'null'
          ) || '}',
            ','
          order by h.epoch
        )
        from (
          (
            select k.epoch, k.owner
            from "holdfast".reclaimed_claims k
            where k.run_id = reclaimed.run_id
              and k.epoch < reclaimed.epoch
              and k.counted
              and not coalesce(
                (
                  select n.seen_at > k.at
                  from "holdfast".nodes n
                  where n.incarnation = k.owner and n.lease_ms is not null
                  limit 1
                ),
                  false
              )
            order by k.epoch desc
            limit least(reclaimed.crashes, 20) - 1
          )
          union all
          select reclaimed.epoch, reclaimed.owner
        ) h
      ) || ']}' end end,
    t.now
  from reclaimed
  cross join t
  left join lateral (
    select codec, data
    from "holdfast".journal j
    where verdict = 'restarted' and j.run_id = reclaimed.run_id and j.seq = reclaimed.base_seq + 1
    limit 1
  ) j on true
  where verdict not in ('waiting', 'paused')
),
forgiven as (
  update "holdfast".reclaimed_claims k
  set counted = false
  from (select id, unnest(forgiven) as epoch from taken where forgiven <> '{}') e
  where k.run_id = e.id
    and k.epoch = e.epoch
    and k.run_id = any (array (select id from taken where forgiven <> '{}'))
),
noted as (
  insert into "holdfast".reclaimed_claims (run_id, epoch, owner, by, outcome, at, counted, losses)
  select run_id, epoch, owner, null::uuid, verdict, t.now, counted, losses
  from reclaimed, t
  on conflict do nothing
),
reopened as (
  update "holdfast".inbox i
  set taken_seq = null
  where i.run_id = any (array (select run_id from reclaimed where verdict = 'restarted'))
    and i.taken_seq > (select base_seq from reclaimed where run_id = i.run_id)
),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
)
select run_id, case state when 'waiting' then claim_group end as claim_group, verdict, owner, epoch,
  crashes, floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  (
    select case when n.alone then null else n.lease_ms::float8 end
    from "holdfast".nodes n
    where n.incarnation = x.owner
  ) as lease_ms,
  (select n.identity from "holdfast".nodes n where n.incarnation = x.owner) as identity,
  (select n.name from "holdfast".nodes n where n.incarnation = x.owner) as name, null::uuid as notified,
  null::uuid as ending_task, null::boolean as gone
from (select * from reclaimed order by lease_until, run_id) x, t
union all
select null, null, null, null, null, null, null, null, null, null, run_id, null, null
from notified
union all
select null, null, verdict, null, epoch, crashes, null, null, null, null, null, id, gone
from ending_tasks;

-- reclaim_leases · lease/leases.ts
-- Takes expired leases from their owners.
with over as materialized (
  select env, key
  from "holdfast".leases
  where env = $1 and state = 'claimed' and token is not null and lease_until <= (select clock_timestamp())
  order by lease_until, key
  limit $2
  for no key update skip locked
),
freed as (
  update "holdfast".leases l
  set token = null, finished_token = null
  from over o
  where l.env = o.env
    and l.key = o.key
    and l.state = 'claimed'
    and l.lease_until <= (select clock_timestamp())
  returning l.*
)
select l.env, l.key, l.owner, l.epoch::float8, coalesce(l.token::text, l.finished_token::text, '') as token,
  l.attempt,
  case
    when l.state = 'claimed' and l.lease_until <= clock_timestamp() then 'expired'
    else l.state end as state,
  floor(extract(epoch from l.lease_until) * 1000)::float8 as "leaseUntil",
  floor(extract(epoch from l.acquired_at) * 1000)::float8 as "acquiredAt",
  floor(extract(epoch from l.finished_at) * 1000)::float8 as "finishedAt", l.detail
from freed l
order by l.lease_until, l.key;

-- reclaim_orphans · claim/recover-runs.ts
-- Reclaims orphans, each by the policy that an operator chose for it.
with t as materialized (select clock_timestamp() as now),
expired as materialized (
  select r.*, false as gone, w.policy
  from unnest((select $1::uuid[]), (select $2::bigint[]), (select $3::text[])) as w (id, epoch, policy)
  cross join lateral (
    select r.id, r.epoch, r.owner, r.lease_until, r.base_seq, r.crashes, r.crash_limit, r.counts, r.pausing,
      r.pending
    from "holdfast".runs r
    where r.id = w.id
      and r.epoch = w.epoch
      and r.token is not null
      and r.lease_until <= (select clock_timestamp()) - ($4::float8) * interval '1 millisecond'
    limit 1
    for no key update skip locked
  ) r
),
judged as materialized (
  select x.id, x.epoch, x.owner, x.lease_until, x.base_seq, x.counts, x.gone, x.forgiven, x.losses,
    x.verdict, x.crashes > 0 or x.verdict = 'restarted' as counted,
    case when x.verdict in ('restarted', 'dead') then x.worst else x.died end as crashes
  from (
    select x.*,
      case
        when x.policy = 'fail' and x.begun then 'failed'
        when (
          x.worst >= x.crash_limit
            and (
              x.crash_limit = 1
                or x.worst >= 2 * x.crash_limit
                or not coalesce(
                  (
                    select (
                      select true
                      from "holdfast".runs o
                      where o.state = 'running' and o.owner = x.owner and o.id <> x.id
                      limit 1
                    )
                      or (
                        select true
                        from "holdfast".reclaimed_claims k
                        where k.owner = x.owner
                          and k.run_id <> x.id
                          and k.at > t.now - (60000) * interval '1 millisecond'
                        limit 1
                      )
                    from "holdfast".nodes n
                    where n.incarnation = x.owner and n.lease_ms is not null
                    limit 1
                  ),
                    false
                )
            )
        ) then 'dead'
        when x.pausing then 'paused'
        when x.policy = 'restart' and x.begun and x.pending = 0 then 'restarted'
        else 'waiting' end as verdict
    from (
      select x.*, j.begun, c.forgiven, d.died, greatest(d.died, j.restarts + 1) as worst,
        coalesce(l.losses, 0) as losses
      from expired x
      left join lateral (
        select (j.key like 'debounce %') is not true as begun,
          case
            when x.policy = 'restart'
              and not x.counts
              and x.pending = 0 then (
                select count(*)::int
                from (
                  select k.owner, k.at
                  from "holdfast".reclaimed_claims k
                  where k.run_id = x.id and k.outcome = 'restarted'
                  order by k.epoch desc
                  limit (
                    select count(*)
                    from "holdfast".journal k
                    where k.run_id = x.id
                      and k.kind = 'start'
                      and k.seq > coalesce(
                        (
                          select max(m.seq)
                          from "holdfast".journal m
                          where m.run_id = x.id
                            and (m.kind = 'retried' or (m.kind = 'start' and m.name <> 'recovery'))
                        ),
                          0
                      )
                  )
                ) k
                where not coalesce(
                  (
                    select n.seen_at > k.at
                    from "holdfast".nodes n
                    where n.incarnation = k.owner and n.lease_ms is not null
                    limit 1
                  ),
                    false
                )
              ) end as restarts
        from "holdfast".journal j
        where x.policy in ('fail', 'restart') and j.run_id = x.id and j.seq = x.base_seq + 1
        limit 1
      ) j on true
      cross join lateral (
        select array (
          select k.epoch
          from (
            select *
            from "holdfast".reclaimed_claims k
            where k.run_id = x.id and k.counted and k.epoch < x.epoch
            order by k.epoch desc
            limit greatest(x.crashes - 1, 0)
          ) k
          where coalesce(
            (
              select n.seen_at > k.at
              from "holdfast".nodes n
              where n.incarnation = k.owner and n.lease_ms is not null
              limit 1
            ),
              false
          )
        ) as forgiven
      ) c
      cross join lateral (select x.crashes - cardinality(c.forgiven) as died) d
      left join lateral (
        select least(k.losses + 1, 6) as losses
        from "holdfast".reclaimed_claims k
        where k.run_id = x.id
          and k.epoch = x.epoch - 1
          and x.crashes > 0
          and coalesce(
            (
              select n.seen_at > k.at
              from "holdfast".nodes n
              where n.incarnation = k.owner and n.lease_ms is not null
              limit 1
            ),
              false
          )
      ) l on true
    ) x,
      t
  ) x
),
ending_tasks as (
  select id, epoch, gone, verdict, crashes
  from judged
  where counts and verdict in ('dead', 'failed')
),
free_limits as materialized (
  select l.run_id, l.stage
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from judged where verdict in ('dead', 'failed')))
  for no key update skip locked
),
free_mail as materialized (
  select i.run_id, i.key
  from "holdfast".inbox i
  where i.run_id = any (array (select id from judged where verdict not in ('waiting', 'paused')))
  for no key update skip locked
),
stuck as materialized (
  select l.run_id
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from judged where verdict in ('dead', 'failed')))
    and ((l.run_id, l.stage) not in (select run_id, stage from free_limits)) is not false
  union
  select i.run_id
  from "holdfast".inbox i
  where i.run_id = any (array (select id from judged where verdict not in ('waiting', 'paused')))
    and ((i.run_id, i.key) not in (select run_id, key from free_mail)) is not false
),
taken as materialized (
  select *
  from judged
  where not (counts and verdict in ('dead', 'failed'))
    and not ((id in (select run_id from stuck)) is not false)
),
reclaimed as (
  update "holdfast".runs r
  set state = case when e.verdict in ('restarted', 'paused') then 'waiting' else e.verdict end,
    seq = r.seq + (e.verdict not in ('waiting', 'paused'))::int,
    generation = r.generation + (e.verdict = 'restarted')::int,
    base_seq = case e.verdict when 'restarted' then r.seq else r.base_seq end,
    failures = case e.verdict when 'restarted' then 0 else r.failures end,
    crashes = e.crashes,
    available_at = case
      when e.losses > 0 then t.now + least(2 ^(e.losses - 1), 30) * interval '1 second'
      else r.available_at end,
    ended_at = case when e.verdict in ('dead', 'failed') then t.now end,
    token = null,
    owner = null,
    lease_until = null
  from unnest(
    array (select id from taken), array (select owner from taken), array (select lease_until from taken),
      array (select base_seq from taken), array (select verdict from taken),
      array (select crashes from taken), array (select counted from taken), array (select losses from taken)
  ) as e(id, owner, lease_until, base_seq, verdict, crashes, counted, losses),
    t
  where r.id = e.id
    and r.token is not null
    and r.lease_until <= t.now - ($4::float8) * interval '1 millisecond'
  returning r.id as run_id, r.claim_group, r.state, r.seq, r.crashes, r.parent_id, r.epoch, e.owner,
    e.lease_until, e.base_seq, e.verdict, e.counted, e.losses
),
ended as (
  select run_id, parent_id, state, false as counted
  from reclaimed
  where verdict in ('dead', 'failed')
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, case verdict when 'restarted' then 'start' else verdict end,
    case verdict when 'restarted' then 'recovery' else '' end,
    case verdict when 'restarted' then j.codec else 'json' end,
    case verdict
      when 'restarted' then j.data
      else case verdict
      when 'failed' then '{"name":"RunOrphaned","message":"The node that worked on this run died, and its recovery policy is to fail.","code":"ORPHANED","details":{"previousOwner":"' || owner || '"}}'
      else '{"code":"CRASH_LIMIT","crashes":' || crashes || ',"holders":[' || (
        select string_agg(
          '{"epoch":' || h.epoch || ',"incarnation":"' || h.owner || '","node":' || coalesce(
            (select to_json(n.name)::text from "holdfast".nodes n where n.incarnation = h.owner), 'null'
          ) || '}',
            ','
          order by h.epoch
        )
        from (
          (
            select k.epoch, k.owner
            from "holdfast".reclaimed_claims k
            where k.run_id = reclaimed.run_id
              and k.epoch < reclaimed.epoch
              and k.counted
              and not coalesce(
                (
                  select n.seen_at > k.at
                  from "holdfast".nodes n
                  where n.incarnation = k.owner and n.lease_ms is not null
                  limit 1
                ),
                  false
              )
            order by k.epoch desc
            limit least(reclaimed.crashes, 20) - 1
          )
          union all
          select reclaimed.epoch, reclaimed.owner
        ) h
      ) || ']}' end end,
    t.now
  from reclaimed
  cross join t
  left join lateral (
    select codec, data
    from "holdfast".journal j
    where verdict = 'restarted' and j.run_id = reclaimed.run_id and j.seq = reclaimed.base_seq + 1
    limit 1
  ) j on true
  where verdict not in ('waiting', 'paused')
),
forgiven as (
  update "holdfast".reclaimed_claims k
  set counted = false
  from (select id, unnest(forgiven) as epoch from taken where forgiven <> '{}') e
  where k.run_id = e.id
    and k.epoch = e.epoch
    and k.run_id = any (array (select id from taken where forgiven <> '{}'))
),
noted as (
  insert into "holdfast".reclaimed_claims (run_id, epoch, owner, by, outcome, at, counted, losses)
  select run_id, epoch, owner, null::uuid, verdict, t.now, counted, losses
  from reclaimed, t
  on conflict do nothing
),
reopened as (
  update "holdfast".inbox i
  set taken_seq = null
  where i.run_id = any (array (select run_id from reclaimed where verdict = 'restarted'))
    and i.taken_seq > (select base_seq from reclaimed where run_id = i.run_id)
),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
)
select run_id, case state when 'waiting' then claim_group end as claim_group, verdict, owner, epoch,
  crashes, floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  (
    select case when n.alone then null else n.lease_ms::float8 end
    from "holdfast".nodes n
    where n.incarnation = x.owner
  ) as lease_ms,
  (select n.identity from "holdfast".nodes n where n.incarnation = x.owner) as identity,
  (select n.name from "holdfast".nodes n where n.incarnation = x.owner) as name, null::uuid as notified,
  null::uuid as ending_task, null::boolean as gone
from (select * from reclaimed order by lease_until, run_id) x, t
union all
select null, null, null, null, null, null, null, null, null, null, run_id, null, null
from notified
union all
select null, null, verdict, null, epoch, crashes, null, null, null, null, null, id, gone
from ending_tasks;

-- reclaim_runs · claim/reclaim.ts
-- Reclaims the claims of nodes that are gone and those whose lease has expired, for one node.
with t as materialized (select clock_timestamp() as now),
here as materialized (
  select objid::bigint as presence
  from pg_locks
  where locktype = 'advisory'
    and classid = 1752132708
    and granted
    and database = (select oid from pg_database where datname = current_database())
),
missing as materialized (
  select n.incarnation, coalesce(n.absent_since, t.now) as since,
    greatest(
      n.seen_at,
        case
          when not n.alone then (
            select max(r.lease_until)
            from "holdfast".runs r
            where r.state = 'running' and r.owner = n.incarnation
          ) - (n.lease_ms) * interval '1 millisecond' end
    ) as seen_at,
    coalesce(n.presence_grace_ms, 1000) as grace,
    greatest(coalesce(n.presence_grace_ms, 1000), 2 * coalesce(n.heartbeat_ms, 5000)) as silence,
    n.seen_at > coalesce(n.absent_since, t.now) - (
      3 * coalesce(n.heartbeat_ms, 5000)
    ) * interval '1 millisecond' as sudden
  from "holdfast".nodes n, t
  where n.env = $2::text
    and n.stopped_at is null
    and n.presence is not null
    and not ((n.presence in (select presence from here)) is not false)
),
departing as materialized (
  select m.incarnation,
    greatest(
      m.since + (f.n * m.grace) * interval '1 millisecond',
        m.seen_at + (f.n * m.silence) * interval '1 millisecond',
        t.now + (f.n * m.grace - $3::float8) * interval '1 millisecond'
    ) as at
  from t
  cross join missing m
  cross join lateral (
    select count(*) as lost
    from missing o
    where o.sudden and abs(extract(epoch from o.since - m.since)) * 1000 <= m.silence
  ) a
  cross join lateral (
    select case
      when ($4::boolean and m.since <= t.now + (m.silence - $3::float8) * interval '1 millisecond')
        or pg_postmaster_start_time() > clock_timestamp() - (3 * m.silence) * interval '1 millisecond'
        or (
          a.lost >= 2
            and a.lost >= (
              select count(*)
              from "holdfast".nodes n
              where n.env = $2::text
                and n.stopped_at is null
                and n.presence is not null
                and ((n.presence in (select presence from here)) is not false)
            )
        ) then 3
      else 1 end as n
  ) f
),
gone as materialized (
  select incarnation
  from departing, t
  where at <= t.now
  union all
  select n.incarnation
  from "holdfast".nodes n, t
  where n.alone
    and n.env = $2::text
    and n.seen_at < t.now - (
      greatest(n.lease_ms, 3 * coalesce(n.heartbeat_ms, 5000))
    ) * interval '1 millisecond'
    and $3::float8 >= 3.5 * coalesce(n.heartbeat_ms, 1000)
),
expired as materialized (
  select r.id, r.epoch, r.owner, r.lease_until, r.base_seq, r.crashes, r.crash_limit, r.counts, r.pausing,
    r.pending, r.owner = any (array (select incarnation from gone)) as gone,
    coalesce(
      r.recovery, (select g.recovery from "holdfast".claim_groups g where g.id = r.claim_group)
    ) as policy
  from "holdfast".runs r
  where (select g.env from "holdfast".claim_groups g where g.id = r.claim_group) = $2::text
    and r.state = 'running'
    and (
      (
        r.lease_until <= (select clock_timestamp())
          and $3::float8 >= 3.5 * coalesce(
            (select n.heartbeat_ms from "holdfast".nodes n where n.incarnation = r.owner), 1000
          )
      )
        or r.owner = any (array (select incarnation from gone))
    )
  order by r.lease_until, r.id
  limit $5
  for no key update skip locked
),
judged as materialized (
  select x.id, x.epoch, x.owner, x.lease_until, x.base_seq, x.counts, x.gone, x.forgiven, x.losses,
    x.verdict, x.crashes > 0 or x.verdict = 'restarted' as counted,
    case when x.verdict in ('restarted', 'dead') then x.worst else x.died end as crashes
  from (
    select x.*,
      case
        when x.policy = 'fail' and x.begun then 'failed'
        when (
          x.worst >= x.crash_limit
            and (
              x.crash_limit = 1
                or x.worst >= 2 * x.crash_limit
                or not coalesce(
                  (
                    select (
                      select true
                      from "holdfast".runs o
                      where o.state = 'running' and o.owner = x.owner and o.id <> x.id
                      limit 1
                    )
                      or (
                        select true
                        from "holdfast".reclaimed_claims k
                        where k.owner = x.owner
                          and k.run_id <> x.id
                          and k.at > t.now - (60000) * interval '1 millisecond'
                        limit 1
                      )
                    from "holdfast".nodes n
                    where n.incarnation = x.owner and n.lease_ms is not null
                    limit 1
                  ),
                    false
                )
            )
        ) then 'dead'
        when x.pausing then 'paused'
        when x.policy = 'restart' and x.begun and x.pending = 0 then 'restarted'
        else 'waiting' end as verdict
    from (
      select x.*, j.begun, c.forgiven, d.died, greatest(d.died, j.restarts + 1) as worst,
        coalesce(l.losses, 0) as losses
      from expired x
      left join lateral (
        select (j.key like 'debounce %') is not true as begun,
          case
            when x.policy = 'restart'
              and not x.counts
              and x.pending = 0 then (
                select count(*)::int
                from (
                  select k.owner, k.at
                  from "holdfast".reclaimed_claims k
                  where k.run_id = x.id and k.outcome = 'restarted'
                  order by k.epoch desc
                  limit (
                    select count(*)
                    from "holdfast".journal k
                    where k.run_id = x.id
                      and k.kind = 'start'
                      and k.seq > coalesce(
                        (
                          select max(m.seq)
                          from "holdfast".journal m
                          where m.run_id = x.id
                            and (m.kind = 'retried' or (m.kind = 'start' and m.name <> 'recovery'))
                        ),
                          0
                      )
                  )
                ) k
                where not coalesce(
                  (
                    select n.seen_at > k.at
                    from "holdfast".nodes n
                    where n.incarnation = k.owner and n.lease_ms is not null
                    limit 1
                  ),
                    false
                )
              ) end as restarts
        from "holdfast".journal j
        where x.policy in ('fail', 'restart') and j.run_id = x.id and j.seq = x.base_seq + 1
        limit 1
      ) j on true
      cross join lateral (
        select array (
          select k.epoch
          from (
            select *
            from "holdfast".reclaimed_claims k
            where k.run_id = x.id and k.counted and k.epoch < x.epoch
            order by k.epoch desc
            limit greatest(x.crashes - 1, 0)
          ) k
          where coalesce(
            (
              select n.seen_at > k.at
              from "holdfast".nodes n
              where n.incarnation = k.owner and n.lease_ms is not null
              limit 1
            ),
              false
          )
        ) as forgiven
      ) c
      cross join lateral (select x.crashes - cardinality(c.forgiven) as died) d
      left join lateral (
        select least(k.losses + 1, 6) as losses
        from "holdfast".reclaimed_claims k
        where k.run_id = x.id
          and k.epoch = x.epoch - 1
          and x.crashes > 0
          and coalesce(
            (
              select n.seen_at > k.at
              from "holdfast".nodes n
              where n.incarnation = k.owner and n.lease_ms is not null
              limit 1
            ),
              false
          )
      ) l on true
    ) x,
      t
  ) x
),
ending_tasks as (
  select id, epoch, gone, verdict, crashes
  from judged
  where counts and verdict in ('dead', 'failed')
),
free_limits as materialized (
  select l.run_id, l.stage
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from judged where verdict in ('dead', 'failed')))
  for no key update skip locked
),
free_mail as materialized (
  select i.run_id, i.key
  from "holdfast".inbox i
  where i.run_id = any (array (select id from judged where verdict not in ('waiting', 'paused')))
  for no key update skip locked
),
stuck as materialized (
  select l.run_id
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from judged where verdict in ('dead', 'failed')))
    and ((l.run_id, l.stage) not in (select run_id, stage from free_limits)) is not false
  union
  select i.run_id
  from "holdfast".inbox i
  where i.run_id = any (array (select id from judged where verdict not in ('waiting', 'paused')))
    and ((i.run_id, i.key) not in (select run_id, key from free_mail)) is not false
),
taken as materialized (
  select *
  from judged
  where not (counts and verdict in ('dead', 'failed'))
    and not ((id in (select run_id from stuck)) is not false)
),
reclaimed as (
  update "holdfast".runs r
  set state = case when e.verdict in ('restarted', 'paused') then 'waiting' else e.verdict end,
    seq = r.seq + (e.verdict not in ('waiting', 'paused'))::int,
    generation = r.generation + (e.verdict = 'restarted')::int,
    base_seq = case e.verdict when 'restarted' then r.seq else r.base_seq end,
    failures = case e.verdict when 'restarted' then 0 else r.failures end,
    crashes = e.crashes,
    available_at = case
      when e.losses > 0 then t.now + least(2 ^(e.losses - 1), 30) * interval '1 second'
      else r.available_at end,
    ended_at = case when e.verdict in ('dead', 'failed') then t.now end,
    token = null,
    owner = null,
    lease_until = null
  from unnest(
    array (select id from taken), array (select owner from taken), array (select lease_until from taken),
      array (select base_seq from taken), array (select verdict from taken),
      array (select crashes from taken), array (select counted from taken), array (select losses from taken)
  ) as e(id, owner, lease_until, base_seq, verdict, crashes, counted, losses),
    t
  where r.id = e.id
    and r.token is not null
    and (
      (
        r.lease_until <= t.now
          and $3::float8 >= 3.5 * coalesce(
            (select n.heartbeat_ms from "holdfast".nodes n where n.incarnation = r.owner), 1000
          )
      )
        or r.owner = any (array (select incarnation from gone))
    )
  returning r.id as run_id, r.claim_group, r.state, r.seq, r.crashes, r.parent_id, r.epoch, e.owner,
    e.lease_until, e.base_seq, e.verdict, e.counted, e.losses
),
ended as (
  select run_id, parent_id, state, false as counted
  from reclaimed
  where verdict in ('dead', 'failed')
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, case verdict when 'restarted' then 'start' else verdict end,
    case verdict when 'restarted' then 'recovery' else '' end,
    case verdict when 'restarted' then j.codec else 'json' end,
    case verdict
      when 'restarted' then j.data
      else case verdict
      when 'failed' then '{"name":"RunOrphaned","message":"The node that worked on this run died, and its recovery policy is to fail.","code":"ORPHANED","details":{"previousOwner":"' || owner || '"}}'
      else '{"code":"CRASH_LIMIT","crashes":' || crashes || ',"holders":[' || (
        select string_agg(
          '{"epoch":' || h.epoch || ',"incarnation":"' || h.owner || '","node":' || coalesce(
            (select to_json(n.name)::text from "holdfast".nodes n where n.incarnation = h.owner), 'null'
          ) || '}',
            ','
          order by h.epoch
        )
        from (
          (
            select k.epoch, k.owner
            from "holdfast".reclaimed_claims k
            where k.run_id = reclaimed.run_id
              and k.epoch < reclaimed.epoch
              and k.counted
              and not coalesce(
                (
                  select n.seen_at > k.at
                  from "holdfast".nodes n
                  where n.incarnation = k.owner and n.lease_ms is not null
                  limit 1
                ),
                  false
              )
            order by k.epoch desc
            limit least(reclaimed.crashes, 20) - 1
          )
          union all
          select reclaimed.epoch, reclaimed.owner
        ) h
      ) || ']}' end end,
    t.now
  from reclaimed
  cross join t
  left join lateral (
    select codec, data
    from "holdfast".journal j
    where verdict = 'restarted' and j.run_id = reclaimed.run_id and j.seq = reclaimed.base_seq + 1
    limit 1
  ) j on true
  where verdict not in ('waiting', 'paused')
),
forgiven as (
  update "holdfast".reclaimed_claims k
  set counted = false
  from (select id, unnest(forgiven) as epoch from taken where forgiven <> '{}') e
  where k.run_id = e.id
    and k.epoch = e.epoch
    and k.run_id = any (array (select id from taken where forgiven <> '{}'))
),
noted as (
  insert into "holdfast".reclaimed_claims (run_id, epoch, owner, by, outcome, at, counted, losses)
  select run_id, epoch, owner, $1::uuid, verdict, t.now, counted, losses
  from reclaimed, t
  on conflict do nothing
),
reopened as (
  update "holdfast".inbox i
  set taken_seq = null
  where i.run_id = any (array (select run_id from reclaimed where verdict = 'restarted'))
    and i.taken_seq > (select base_seq from reclaimed where run_id = i.run_id)
),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = any (array (select run_id from ended)) and i.taken_seq is null
),
notified as (
  insert into "holdfast".inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id,
    'child:' || e.run_id || coalesce(
      (select ':' || c.generation from "holdfast".runs c where c.id = e.run_id and c.generation > 0), ''
    ),
    e.run_id, 'child', e.state, e.run_id::text, clock_timestamp()
  from ended e
  cross join lateral (select state from "holdfast".runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null
    and p.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and not ((e.parent_id in (select run_id from ended)) is not false)
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
)
select run_id, case state when 'waiting' then claim_group end as claim_group, verdict, owner, epoch,
  crashes, floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  (
    select case when n.alone then null else n.lease_ms::float8 end
    from "holdfast".nodes n
    where n.incarnation = x.owner
  ) as lease_ms,
  (select n.identity from "holdfast".nodes n where n.incarnation = x.owner) as identity,
  (select n.name from "holdfast".nodes n where n.incarnation = x.owner) as name, null::uuid as notified,
  null::uuid as ending_task, null::boolean as gone
from (select * from reclaimed order by lease_until, run_id) x, t
union all
select null, null, null, null, null, null, null, null, null, null, run_id, null, null
from notified
union all
select null, null, verdict, null, epoch, crashes, null, null, null, null, null, id, gone
from ending_tasks;

-- reconcile_tasks · task/reconcile-tasks.ts
-- Repairs counts of tasks that do not match their rows.
select id, claim_group, state, repaired
from "holdfast".reconcile_tasks($1::text, $2::text);

-- refused_appends · machine/machine-sql.ts
-- Finds out why appends were not accepted.
select i.seq, i.status, coalesce(e.token = w.token, false) as recorded
from unnest(
  (select $1::uuid[]), (select $2::uuid[]), (select $3::bigint[])
) with ordinality as w (key, token, seq, ord)
left join lateral (select seq, status from "holdfast".instances i where i.key = w.key limit 1) i on true
left join lateral (
  select token
  from "holdfast".instance_events e
  where e.instance = w.key and e.seq = w.seq + 1
  limit 1
) e on true
order by w.ord;

-- refused_commits · claim/refused-commits.ts
-- Finds out why commits were not accepted.
with e as materialized (
  select *
  from (
    select u.ord, coalesce(u.i, ($13::int[])[0]) as i, coalesce(u.kind, ($14::text[])[0]) as kind,
      coalesce(u.name, ($15::text[])[0]) as name, coalesce(u.key, ($16::text[])[0]) as key,
      coalesce(u.codec, ($17::text[])[0]) as codec, coalesce(u.data, ($18::text[])[0]) as data
    from unnest(
      (select $12::int[]), (select $13::int[]), (select $14::text[]), (select $15::text[]),
        (select $16::text[]), (select $17::text[]), (select $18::text[])
    ) as u(ord, i, kind, name, key, codec, data)
  ) as e
  union all
  select ord, i, 'take', null, key, null, null
  from unnest(
    (select $6::int[]), (select $7::int[]), (select $8::text[]), (select $9::uuid[]), (select $10::uuid[]),
      (select $11::bool[])
  ) as k(ord, i, key, message, child, counts)
  where key is not null
),
written as materialized (
  select e.ord, count(*) as n
  from e
  cross join lateral (
    select
    from "holdfast".journal j
    where j.run_id = ($1::uuid[])[e.ord]
      and j.seq = ($4::bigint[])[e.ord] + e.i
      and j.epoch = ($2::bigint[])[e.ord]
      and j.token = ($3::uuid[])[e.ord]
      and j.kind = e.kind
      and j.key is not distinct from e.key
      and (
        e.name is null
          or (j.name = e.name and j.codec is not distinct from e.codec and j.data is not distinct from e.data)
      )
    limit 1
  ) j
  group by 1
),
unfit as materialized (
  select jsonb_object_agg(ord, i) as by_ord
  from (
    select ord, array[min(i)] as i
    from (
      select k.ord, k.i
      from unnest(
        (select $6::int[]), (select $7::int[]), (select $8::text[]), (select $9::uuid[]),
          (select $10::uuid[]), (select $11::bool[])
      ) as k(ord, i, key, message, child, counts)
      left join lateral (
        select i.taken_seq is null and i.message_id = coalesce(k.message, i.message_id) as open
        from "holdfast".inbox i
        where i.run_id = ($1::uuid[])[k.ord] and i.key = k.key
        limit 1
      ) m on true
      left join lateral (
        select k.counts or r.parent_id is distinct from ($1::uuid[])[k.ord] as other
        from "holdfast".runs r
        where r.id = k.child
        limit 1
      ) c on true
      where (k.key is not null and m.open is not true) or c.other
    ) u
    group by 1
  ) u
),
judged as materialized (
  select w.ord, w.run_id, w.epoch, r.seq,
    case
      when ((w.ord in (select ord from written where n = ($5::int[])[ord])) is not false) then 'recorded'
      when r.epoch = w.epoch and r.token = w.token then 'held'
      else 'lost' end as reason
  from unnest(
    (select $1::uuid[]), (select $2::bigint[]), (select $3::uuid[]), (select $4::bigint[]), (select $5::int[])
  ) with ordinality as w (run_id, epoch, token, seq, n, ord)
  left join lateral (select * from "holdfast".runs r where r.id = w.run_id limit 1) r on true
),
late as materialized (
  select k.at_row
  from judged w
  cross join lateral (
    select k.ctid as at_row
    from "holdfast".reclaimed_claims k
    where k.run_id = w.run_id and k.epoch = w.epoch
    limit 1
  ) k
  where w.reason = 'lost'
),
counted as (
  update "holdfast".reclaimed_claims k
  set refused = k.refused + (select count(*) from late where at_row = k.ctid)
  where k.ctid = any (array (select at_row from late))
)
select w.reason, w.seq, coalesce((select by_ord -> w.ord::text from unfit), '[]') as bad_takes
from judged w
order by w.ord;

-- refused_timeouts · timeout/claim-timeouts.ts
-- Reads the timeouts that could not be claimed.
select o.env, o.scope, o.instance, o.generation, o.state, o.sequence::float8,
  floor(extract(epoch from o.deadline) * 1000)::float8 as deadline,
  floor(extract(epoch from o.created_at) * 1000)::float8 as "createdAt", o.attempts,
  o.claimed_by as "claimedBy", floor(extract(epoch from o.claimed_until) * 1000)::float8 as "claimedUntil",
  o.due_at is null as dead, o.problem, o.token, coalesce(o.due_at > clock_timestamp(), true) as later
from unnest((select $1::text[]), (select $2::text[]), (select $3::text[])) as a (env, scope, instance)
cross join lateral (
  select *
  from "holdfast".timeouts o
  where o.env = a.env and o.scope = a.scope and o.instance = a.instance
  limit 1
) o;

-- register_node · node/nodes.ts
-- Registers a node, or refuses it because another one with its identity lives.
select outcome, dead, (rival).incarnation, (rival).identity, (rival).name, (rival).alone, (mine).mode,
  (mine).overrides, (mine).drain
from "holdfast".register_node(
  jsonb_populate_record(null:: "holdfast".nodes, $1::jsonb), clock_timestamp(), $2::json
);

-- release_timeouts · timeout/claim-timeouts.ts
-- Releases timeouts that were not handled.
with t as materialized (select clock_timestamp() as now),
mine as materialized (
  select a.*
  from unnest(
    (select $1::uuid[]), (select $2::uuid[]), (select $3::float8[]), (select $4::bool[]), (select $5::text[])
  ) as a(generation, token, retry_ms, dead, problem)
  cross join lateral (
    select o.generation
    from "holdfast".timeouts o
    where o.generation = a.generation and o.token = a.token
    limit 1
    for update skip locked
  ) o
),
released as (
  update "holdfast".timeouts o
  set token = null,
    claimed_by = null,
    claimed_until = null,
    released_token = m.token,
    due_at = case
      when not m.dead then coalesce(t.now + (m.retry_ms) * interval '1 millisecond', o.deadline) end,
    attempts = o.attempts - case when m.retry_ms is null and not m.dead then 1 else 0 end,
    problem = coalesce(m.problem, o.problem)
  from mine m, t
  where o.generation = m.generation and o.token = m.token
  returning o.generation, m.token
)
select generation, token
from released
union all
select o.generation, a.token
from unnest((select $1::uuid[]), (select $2::uuid[])) as a (generation, token)
cross join lateral (
  select o.generation
  from "holdfast".timeouts o
  where o.generation = a.generation and o.released_token = a.token
  limit 1
) o;

-- remove_definition · definition/definitions.ts
-- Removes a definition and keeps its version number.
delete from "holdfast".definitions
where env = $1 and kind = $2 and name = $3;

-- remove_schedules · schedule/schedules.ts
-- Removes schedules that no node has declared for a given time.
delete from "holdfast".schedules s
where env = $1
  and stack = $2
  and program = any ($3::text[])
  and seen_at <= clock_timestamp() - ($4::float8) * interval '1 millisecond'
  and not exists (
    select
    from unnest((select $5::text[]), (select $6::text[])) as d (program, key)
    where (d.program, d.key) = (s.program, s.key)
  );

-- renew_claims · claim/renew-claims.ts
-- Renews the leases of claims and reports which claims are lost.
with w as materialized (
  select *
  from unnest(
    (select $1::uuid[]), (select $2::bigint[]), (select $3::uuid[])
  ) with ordinality as w (run_id, epoch, token, ord)
),
l as materialized (
  select w.*
  from w
  join "holdfast".runs r on r.id = w.run_id
  for no key update of r skip locked
),
renewed as (
  update "holdfast".runs r
  set lease_until = clock_timestamp() + ($4::float8) * interval '1 millisecond'
  from l
  where r.id = l.run_id and r.epoch = l.epoch and r.token = l.token
  returning l.ord, r.inbox_seq, r.owner
),
holder as materialized (
  select n.incarnation
  from "holdfast".nodes n
  where n.incarnation = any (array (select distinct owner from renewed)) and n.stopped_at is null
  for no key update skip locked
),
heard as (
  update "holdfast".nodes n
  set seen_at = clock_timestamp()
  where n.incarnation = any (array (select incarnation from holder))
)
select ord::int, 'held' as outcome, inbox_seq
from renewed
union all
select w.ord::int,
  case
    when r.epoch = w.epoch
      and r.token = w.token
      and not ((w.ord in (select ord from l)) is not false) then 'busy'
    else 'lost' end,
  null
from w
left join lateral (select epoch, token from "holdfast".runs r where r.id = w.run_id limit 1) r on true
where not ((w.ord in (select ord from renewed)) is not false);

-- renew_lease · lease/leases.ts
-- Renews a lease.
update "holdfast".leases
set lease_until = clock_timestamp() + ($5::float8) * interval '1 millisecond'
where env = $1 and key = $2 and epoch = $3 and token = $4
returning key;

-- resume_queue · limit/queues.ts
-- Resumes a queue and returns its groups.
with resumed as (delete from "holdfast".paused_queues where env = $1 and queue = $2)
select id
from "holdfast".claim_groups
where env = $1 and queue = $2;

-- resume_run · run/pause-run.ts
-- Resumes a paused run and its tasks.
with recursive tree(id, parent) as (
  select x.id, null::uuid
  from (select $1::uuid) as x (id)
  union all
  select j.key::uuid, tree.id
  from tree
  cross join lateral (select base_seq from "holdfast".runs r where r.id = tree.id limit 1) r
  cross join lateral (
    select key
    from "holdfast".journal j
    where j.run_id = tree.id and j.seq > r.base_seq and j.kind = 'task'
    offset 0
  ) j
),
seen as materialized (
  select r.id, r.seq
  from "holdfast".runs r
  where r.id = any (array (select id from tree))
),
l as materialized (
  select r.id, r.state, r.pausing, r.seq
  from "holdfast".runs r
  where r.id = any (array (select id from tree))
  order by r.id
  for no key update
),
moved as materialized (select l.id from l join seen on seen.id = l.id where l.seq <> seen.seq),
t as materialized (select clock_timestamp() as now),
p as (
  update "holdfast".runs r
  set state = case
    when l.state = 'running' then r.state
    when r.pending > 0 and l.id not in (select parent from tree where parent is not null) then 'blocked'
    else 'waiting' end,
    pausing = false,
    seq = r.seq + (l.id = $1 and l.state <> 'running')::int,
    available_at = greatest(r.available_at, t.now + (n.ord - 1) * interval '1 microsecond')
  from unnest(array (select id from l order by id)) with ordinality as n (id, ord)
  join l on l.id = n.id, t
  where r.id = n.id and (l.state = 'paused' or l.pausing) and l.id not in (select id from moved)
  returning r.id, r.state, r.seq, r.claim_group
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, at)
  select id, seq, 0, 'resumed', $2, t.now
  from p, t
  where id = $1 and state <> 'running'
)
select (select state from l where id = $1) as state, exists (select from p) as resumed,
  array (select distinct claim_group from p where state = 'waiting') as ready,
  array (select id from p where state = 'held') as held, exists (select from moved) as moved;

-- resume_schedules · schedule/schedules.ts
-- Resumes schedules.
with resumed as (
  update "holdfast".schedules
  set paused_at = null, paused_by = null
  where env = $1 and (program = $2 or id::text = $2) and paused_at is not null
)
select count(*)::int as n
from "holdfast".schedules
where env = $1 and (program = $2 or id::text = $2);

-- retire_subscriptions · event/subscriptions.ts
-- Removes subscriptions that no node declares any more.
with marked as (
  update "holdfast".nodes n
  set declares = not $3::bool
  where n.incarnation = $2::uuid and n.declares = $3::bool
),
known as materialized (
  select n.incarnation, n.serves, n.declares or n.incarnation = $2::uuid as declares,
    n.incarnation = $2::uuid
      or n.seen_at >= clock_timestamp() - (
        3 * coalesce(n.heartbeat_ms, 5000)
      ) * interval '1 millisecond' as alive
  from "holdfast".nodes n
  where n.env = $1 and n.stopped_at is null and case
    when n.incarnation = $2::uuid then not $3::bool
    else n.seen_at >= clock_timestamp() - (60000) * interval '1 millisecond' end
),
served as materialized (
  select distinct c.stack, c.program
  from known k, unnest(k.serves) as g (id)
  join "holdfast".claim_groups c on c.id = g.id
  where k.alive and k.declares
),
gone as (
  delete from "holdfast".subscribers b
  where b.env = $1 and b.incarnation not in (select incarnation from known)
),
undeclared as materialized (
  select u.id
  from "holdfast".subscriptions u
  where u.env = $1
    and (u.stack, u.program) in (select stack, program from served)
    and not exists (
      select
      from "holdfast".subscribers b
      join known k on k.incarnation = b.incarnation
      where b.env = u.env and b.subscription = u.id
    )
  order by u.id
  for update skip locked
)
delete from "holdfast".subscriptions u using undeclared x
where u.env = $1 and u.id = x.id
returning u.id;

-- retry_runs · run/retry-runs.ts
-- Retries ended runs, from where they failed or from the start.
with t as materialized (select clock_timestamp() as now),
l as materialized (
  select r.id, r.state, r.seq, r.base_seq, r.claim_group,
    case
      when coalesce(
        (
          select true
          from "holdfast".journal n
          where n.run_id = r.parent_id and n.kind = 'task' and n.key = r.id::text
          limit 1
        ),
          false
      ) then r.parent_id end as task_of
  from "holdfast".runs r
  where r.id = any (array (select id from unnest((select $1::uuid[])) as w (id)))
  order by r.id
  for no key update
),
o as (
  update "holdfast".runs r
  set state = 'waiting',
    generation = r.generation + 1,
    seq = l.seq + 1,
    base_seq = case when $2::bool then l.seq else l.base_seq end,
    pending = case when $2::bool then 0 else r.pending end,
    failures = 0,
    crashes = 0,
    wake_at = null,
    ended_at = null,
    archived_at = null,
    available_at = t.now
  from l, t
  where r.id = l.id
    and (
      l.state in ('failed', 'dead', 'quarantined')
        or l.state = 'completed'
        and $7::bool
        and r.pending > 0
        or l.state in ('completed', 'cancelled', 'paused')
        and $8::bool
    )
    and (l.task_of is null or (l.state = 'quarantined' and not $2::bool))
  returning r.id, r.seq, l.base_seq as old_base
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, key, codec, data, at)
  select o.id, o.seq, 0, case when $2::bool then 'start' else 'retried' end, $3::text, $4::text,
    case when $2::bool then j.codec else $5::text end, case when $2::bool then j.data else $6::text end, t.now
  from o
  cross join t
  left join lateral (
    select codec, data
    from "holdfast".journal j
    where j.run_id = o.id and j.seq = o.old_base + 1
    limit 1
  ) j on true
),
forgotten as (
  delete from "holdfast".inbox i
  where i.run_id = any (array (select id from o)) and i.key = 'cancel'
),
reopened as (
  update "holdfast".inbox i
  set taken_seq = null
  where i.run_id = any (array (select id from o)) and i.taken_seq = 0 and i.key <> 'cancel'
)
select l.id, l.state, l.claim_group, l.task_of, l.id in (select id from o) as opened,
  l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and exists (
      select
      from "holdfast".journal j
      where j.run_id = l.id and j.seq > l.base_seq - 1 and j.key = $4::text and j.epoch = 0
    ) as mine
from l;

-- retry_tasks · task/retry-tasks.ts
-- Retries tasks of ended runs, and what needs them.
with recursive roots as materialized (
  select distinct r.id
  from unnest((select $1::uuid[])) as w (id)
  cross join lateral (
    select id
    from "holdfast".runs r
    where r.id = w.id
      and (r.state in ('failed', 'dead', 'quarantined') or r.state = 'completed' and $4::uuid[] is not null)
      and not coalesce(
        (
          select true
          from "holdfast".journal n
          where n.run_id = r.parent_id and n.kind = 'task' and n.key = r.id::text
          limit 1
        ),
          false
      )
    limit 1
  ) r
),
tree(id, parent) as (
  select x.id, null::uuid
  from (select id from roots) as x (id)
  union all
  select j.key::uuid, tree.id
  from tree
  cross join lateral (select base_seq from "holdfast".runs r where r.id = tree.id limit 1) r
  cross join lateral (
    select key
    from "holdfast".journal j
    where j.run_id = tree.id and j.seq > r.base_seq and j.kind = 'task'
    offset 0
  ) j
),
locked as materialized (
  select r.id, r.state, r.seq, r.base_seq
  from "holdfast".runs r
  where r.id = any (array (select id from tree))
  order by r.id
  for no key update
),
l as materialized (
  select k.id, k.state, k.seq, k.base_seq, tree.parent
  from locked k
  join tree on tree.id = k.id
),
edges as materialized (
  select n.need_id, n.run_id
  from l
  cross join lateral (select need_id, run_id from "holdfast".run_needs n where n.need_id = l.id offset 0) n
),
alive as materialized (
  select id, parent
  from l
  where state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
),
begun as materialized (
  select e.run_id as id
  from edges e
  where e.run_id in (select id from alive)
  group by e.run_id having not bool_or(e.need_id in (select id from alive))
    and not ($5::bool and bool_or(e.run_id in (select id from l where state = 'quarantined')))
  union
  select l.id
  from l
  where l.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    and l.id in (select parent from alive)
    and l.id not in (select id from roots)
),
above(id) as (
  select e.need_id
  from begun b
  join edges e on e.run_id = b.id
  union
  select e.need_id
  from above a
  join edges e on e.run_id = a.id
),
seeds as materialized (
  select l.id
  from l
  where l.id not in (select id from roots)
    and l.id not in (select id from above)
    and (
      select true
      from "holdfast".journal j
      where j.run_id = l.id and j.seq > l.base_seq and j.key = $3::text and j.epoch = 0
      limit 1
    ) is null
    and case
    when $4::uuid[] is null then l.state in ('failed', 'dead', 'quarantined', 'cancelled')
    else l.id = any ($4::uuid[])
      and (l.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead') or l.state = 'quarantined')
      or l.parent = any ($4::uuid[])
      and l.state in ('failed', 'dead', 'quarantined', 'cancelled') end
),
behind(id) as (
  select l.id
  from seeds o
  join edges e on e.need_id = o.id
  join l on l.id = e.run_id
  where (l.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead') or l.state = 'quarantined')
    and ($5::bool or l.state = 'skipped')
  union
  select l.id
  from behind o
  join edges e on e.need_id = o.id
  join l on l.id = e.run_id
  where (l.state in ('completed', 'failed', 'cancelled', 'skipped', 'dead') or l.state = 'quarantined')
    and ($5::bool or l.state = 'skipped')
),
fresh as materialized (
  select id
  from behind
  union
  select l.id
  from l
  where l.state = 'completed' and l.id in (select id from seeds)
),
opened as materialized (
  select l.id, l.base_seq, l.id in (select id from fresh) as fresh
  from l
  where l.id in (select id from seeds union select id from fresh)
    and (l.parent is null or l.parent not in (select id from fresh))
),
live as materialized (select id from alive union select id from opened),
waits as materialized (
  select x.id, count(*)::int as n, bool_or(x.need) as need
  from (
    select e.run_id as id, true as need
    from edges e
    where e.need_id in (select id from live)
    union all
    select l.parent, false
    from l
    where l.parent is not null and l.id in (select id from live)
  ) x
  group by x.id
),
t as materialized (select clock_timestamp() as now),
o as (
  update "holdfast".runs r
  set state = case when u.need then 'blocked' else 'waiting' end,
    pending = u.n,
    counts = true,
    generation = r.generation + 1,
    seq = r.seq + 1,
    base_seq = case when u.fresh then r.seq else r.base_seq end,
    failures = 0,
    crashes = 0,
    ended_at = null,
    archived_at = null,
    available_at = t.now + (u.ord - 1) * interval '1 microsecond'
  from (
    select o.id, o.fresh, o.base_seq, coalesce(w.n, 0) as n, coalesce(w.need, false) as need,
      row_number() over (order by o.id) as ord
    from opened o
    left join waits w on w.id = o.id
  ) u,
    t
  where r.id = u.id
  returning r.id, r.seq, r.claim_group, r.state, u.fresh, u.base_seq as old_base
),
counted as (
  update "holdfast".runs r
  set pending = coalesce((select n from waits w where w.id = r.id), 0)
  where r.id = any (
    array (
      select id
      from roots
      union
      select e.run_id
      from edges e
      join alive a on a.id = e.run_id
      where e.need_id in (select id from opened)
        and e.run_id not in (select id from begun)
        and e.run_id not in (select id from opened)
    )
  )
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, key, codec, data, at)
  select o.id, o.seq, 0, case when o.fresh then 'start' else 'retried' end, $2::text, $3::text, j.codec,
    j.data, t.now
  from o
  cross join t
  left join lateral (
    select codec, data
    from "holdfast".journal j
    where o.fresh and j.run_id = o.id and j.seq = o.old_base + 1
    limit 1
  ) j on true
),
forgotten as (
  delete from "holdfast".inbox i using l
  where l.id in (select id from opened)
    and ((i.run_id = l.id and i.key = 'cancel') or (i.run_id = l.parent and i.key = 'child:' || l.id))
)
select (
  select jsonb_agg(jsonb_build_object('id', id, 'claim_group', claim_group, 'state', state))
  from o
  where state in ('waiting', 'held')
) as ready;

-- retry_timeout · timeout/timeouts.ts
-- Makes a dead timeout due again.
update "holdfast".timeouts o
set due_at = clock_timestamp(), attempts = 0, problem = null, released_token = null
where o.env = $1 and o.scope = $2 and o.instance = $3 and o.due_at is null
returning o.instance;

-- retry_timers · machine/machines.ts
-- Makes the dead timers of an instance pending again.
update "holdfast".timers
set state = 'pending', attempts = 0, try_at = greatest(due_at, clock_timestamp()), claimed_until = null
where instance = $1 and state = 'dead'
returning claim_group;

-- review_misfits · run/review-misfits.ts
-- Hands out runs that no node's code fitted, if another live node may fit.
with t as materialized (select clock_timestamp() as now),
look as materialized (
  select m.run_id
  from "holdfast".misfit_runs m
  where m.env = $1 and m.look_at <= (select clock_timestamp())
  order by m.look_at
  limit $2
  for no key update skip locked
),
l as materialized (
  select r.id, r.state, r.misfits, r.claim_group
  from "holdfast".runs r
  where r.id = any (array (select run_id from look))
  order by r.id
  for no key update skip locked
),
live as materialized (
  select n.claims, array[coalesce(n.build, ''), n.incarnation::text] as names
  from "holdfast".nodes n, t
  where n.env = $1
    and n.stopped_at is null
    and n.seen_at >= t.now - (3 * coalesce(n.heartbeat_ms, 5000)) * interval '1 millisecond'
),
judged as materialized (
  select l.*,
    exists (select from live n where l.claim_group = any (n.claims) and not n.names && l.misfits) as fits
  from l
  where l.misfits is not null and l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
),
lifted as (
  update "holdfast".runs r
  set state = 'waiting', ended_at = null
  where r.id = any (array (select id from judged where fits and state = 'quarantined'))
  returning r.id, r.claim_group, r.state
),
shut as (
  update "holdfast".runs r
  set state = 'quarantined', seq = r.seq + 1, ended_at = t.now
  from t
  where r.id = any (array (select id from judged where not fits and state = 'waiting'))
  returning r.id, r.claim_group, r.state, r.seq, r.misfits
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, seq, 0, 'quarantined', '', 'json',
    '{"name":"NoFittingNode","code":"NO_FITTING_NODE","message":"No live node has code that fits the journal. Tried: ' || trim(
      both '"'
      from to_json(array_to_string(misfits, ', '))::text
    ) || '."}',
    t.now
  from shut, t
),
gone as (
  delete from "holdfast".misfit_runs m
  where m.run_id = any (array (select run_id from look))
    and m.run_id <> all (array (select id from judged))
    and not exists (
      select
      from "holdfast".runs r
      where r.id = m.run_id
        and r.misfits is not null
        and r.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    )
),
later as (
  update "holdfast".misfit_runs m
  set look_at = t.now + (2000) * interval '1 millisecond'
  from t
  where m.run_id = any (array (select id from judged))
)
select x.id, g.program, x.outcome, x.claim_group, x.state
from (
  select id, claim_group, state, 'lifted' as outcome
  from lifted
  union all
  select id, claim_group, state, 'quarantined'
  from shut
) x
cross join lateral (select program from "holdfast".claim_groups g where g.id = x.claim_group limit 1) g
order by x.id;

-- review_misfits_for · run/review-misfits.ts
-- Hands out runs that no node's code fitted, for a node that has just started.
with t as materialized (select clock_timestamp() as now),
look as materialized (
  select m.run_id
  from "holdfast".nodes n
  cross join lateral unnest(n.claims) as c (id)
  cross join lateral (
    select m.run_id
    from "holdfast".misfit_runs m
    cross join lateral (
      select
      from "holdfast".runs r
      where r.id = m.run_id and r.state = 'quarantined' and not r.misfits && array[coalesce(n.build, ''),
        n.incarnation::text]
      limit 1
    ) r
    where m.claim_group = c.id and m.env = $1
    limit $2
  ) m
  where n.incarnation = $3::uuid
  limit $2
),
l as materialized (
  select r.id, r.state, r.misfits, r.claim_group
  from "holdfast".runs r
  where r.id = any (array (select run_id from look))
  order by r.id
  for no key update skip locked
),
live as materialized (
  select n.claims, array[coalesce(n.build, ''), n.incarnation::text] as names
  from "holdfast".nodes n, t
  where n.env = $1
    and n.stopped_at is null
    and n.seen_at >= t.now - (3 * coalesce(n.heartbeat_ms, 5000)) * interval '1 millisecond'
),
judged as materialized (
  select l.*,
    exists (select from live n where l.claim_group = any (n.claims) and not n.names && l.misfits) as fits
  from l
  where l.misfits is not null and l.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
),
lifted as (
  update "holdfast".runs r
  set state = 'waiting', ended_at = null
  where r.id = any (array (select id from judged where fits and state = 'quarantined'))
  returning r.id, r.claim_group, r.state
),
shut as (
  update "holdfast".runs r
  set state = 'quarantined', seq = r.seq + 1, ended_at = t.now
  from t
  where r.id = any (array (select id from judged where not fits and state = 'waiting'))
  returning r.id, r.claim_group, r.state, r.seq, r.misfits
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, seq, 0, 'quarantined', '', 'json',
    '{"name":"NoFittingNode","code":"NO_FITTING_NODE","message":"No live node has code that fits the journal. Tried: ' || trim(
      both '"'
      from to_json(array_to_string(misfits, ', '))::text
    ) || '."}',
    t.now
  from shut, t
),
gone as (
  delete from "holdfast".misfit_runs m
  where m.run_id = any (array (select run_id from look))
    and m.run_id <> all (array (select id from judged))
    and not exists (
      select
      from "holdfast".runs r
      where r.id = m.run_id
        and r.misfits is not null
        and r.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    )
),
later as (
  update "holdfast".misfit_runs m
  set look_at = t.now + (2000) * interval '1 millisecond'
  from t
  where m.run_id = any (array (select id from judged))
)
select x.id, g.program, x.outcome, x.claim_group, x.state
from (
  select id, claim_group, state, 'lifted' as outcome
  from lifted
  union all
  select id, claim_group, state, 'quarantined'
  from shut
) x
cross join lateral (select program from "holdfast".claim_groups g where g.id = x.claim_group limit 1) g
order by x.id;

-- revoke_token · audit/tokens.ts
-- Revokes a token.
update "holdfast".tokens
set revoked_at = coalesce(revoked_at, clock_timestamp())
where id = $1::uuid
returning id;

-- sample_queues · statistic/statistics.ts
-- Stores how many runs are in each queue now.
with t as materialized (select clock_timestamp() as now),
mine as materialized (select g.id, g.queue from "holdfast".claim_groups g where g.env = $1),
waiting as materialized (
  select m.queue, c.n, o.oldest
  from mine m
  cross join lateral (
    select count(*)::int as n
    from (select from "holdfast".runs r where r.claim_group = m.id and r.state = 'waiting' limit 100000) x
  ) c
  cross join lateral (
    with recursive line as (
      (
        select r.priority, r.available_at, 1 as i
        from "holdfast".runs r
        where r.claim_group = m.id and r.state = 'waiting'
        order by r.priority, r.available_at
        limit 1
      )
      union all
      select n.*, l.i + 1
      from line l
      cross join lateral (
        select r.priority, r.available_at
        from "holdfast".runs r
        where r.claim_group = m.id and r.state = 'waiting' and r.priority > l.priority
        order by r.priority, r.available_at
        limit 1
      ) n
      where l.i < 100
    )
    select min(l.available_at) as oldest
    from line l
    where l.available_at <= (select now from t)
  ) o
  where c.n > 0
),
others as materialized (
  (select r.claim_group, r.state from "holdfast".runs r where r.state = 'running' limit 100000)
  union all (select r.claim_group, 'parked' from "holdfast".runs r where r.state = 'parked' limit 100000)
  union all (
    select r.claim_group, r.state
    from "holdfast".runs r
    where r.state in ('held', 'blocked', 'paused')
    limit 100000
  )
),
counted as materialized (select o.claim_group, o.state, count(*)::int as n from others o group by 1, 2),
depths as materialized (
  select w.queue, 'waiting' as state, sum(w.n)::int as n, min(w.oldest) as oldest
  from waiting w
  group by 1
  union all
  select m.queue, c.state, sum(c.n)::int, null
  from counted c
  join mine m on m.id = c.claim_group
  group by 1, 2
)
insert into "holdfast".queue_figures (env, at, step_ms, queue, waiting, running, parked, held, oldest_ms)
select $1, date_bin(10000 * interval '1 millisecond', (select now from t), timestamptz 'epoch'), 10000,
  coalesce(d.queue, ''), coalesce(sum(d.n) filter (where d.state = 'waiting'), 0),
  coalesce(sum(d.n) filter (where d.state = 'running'), 0),
  coalesce(sum(d.n) filter (where d.state = 'parked'), 0),
  coalesce(sum(d.n) filter (where d.state = 'held'), 0),
  floor(extract(epoch from (select now from t) - min(d.oldest)) * 1000)
from (
  select case
    when dense_rank() over (order by x.queue collate "C") <= 200 then queue
    else 'other' end as queue,
    x.state, x.n, x.oldest
  from depths x
) d
group by grouping sets((d.queue), ())
on conflict (env, step_ms, at, queue) do update set waiting = excluded.waiting, running = excluded.running,
  parked = excluded.parked, held = excluded.held, oldest_ms = excluded.oldest_ms;

-- save_definition · definition/definitions.ts
-- Saves a definition over the version that the caller read.
with saved as (
  insert into "holdfast".definitions as d (env, kind, name, version, enabled, body, by, at)
  select $1, $2, $3,
    1 + coalesce(
      (select max(version) from "holdfast".definition_versions where env = $1 and kind = $2 and name = $3), 0
    ),
    true, $4, $5, clock_timestamp()
  where coalesce($6::int, 0) = 0
    or exists (select from "holdfast".definitions where env = $1 and kind = $2 and name = $3)
  on conflict (env, kind, name) do update set version = d.version + 1, body = excluded.body,
    by = excluded.by, at = excluded.at
  where d.body <> excluded.body and ($6::int is null or d.version = $6)
  returning d.env, d.kind, d.name, d.version, d.body
)
insert into "holdfast".definition_versions (env, kind, name, version, body, programs)
select s.env, s.kind, s.name, s.version, s.body, $7::text[]
from saved s
returning version;

-- schedule_timeout · timeout/timeouts.ts
-- Schedules the timeout of an instance.
with t as materialized (select clock_timestamp() as now),
written as (
  insert into "holdfast".timeouts as o (
    env, scope, instance, generation, state, sequence, deadline, due_at, created_at, attempts
  )
  select $1, $2, $3, $4::uuid, $5, $6::bigint, d.at, d.at, t.now, 0
  from t
  cross join lateral (
    select coalesce(to_timestamp($7::float8 / 1000), t.now + ($8::float8) * interval '1 millisecond') as at
  ) d
  on conflict (env, scope, instance) do update set generation = excluded.generation, state = excluded.state,
    sequence = excluded.sequence, deadline = excluded.deadline, due_at = excluded.due_at,
    created_at = excluded.created_at, attempts = 0, claimed_by = null, claimed_until = null, token = null,
    released_token = null, problem = null
  where o.generation <> excluded.generation
    and not ($9::boolean and o.state = excluded.state and o.sequence = excluded.sequence)
  returning o.*
)
select o.env, o.scope, o.instance, o.generation, o.state, o.sequence::float8,
  floor(extract(epoch from o.deadline) * 1000)::float8 as deadline,
  floor(extract(epoch from o.created_at) * 1000)::float8 as "createdAt", o.attempts,
  o.claimed_by as "claimedBy", floor(extract(epoch from o.claimed_until) * 1000)::float8 as "claimedUntil",
  o.due_at is null as dead, o.problem
from written o
union all
select o.env, o.scope, o.instance, o.generation, o.state, o.sequence::float8,
  floor(extract(epoch from o.deadline) * 1000)::float8 as deadline,
  floor(extract(epoch from o.created_at) * 1000)::float8 as "createdAt", o.attempts,
  o.claimed_by as "claimedBy", floor(extract(epoch from o.claimed_until) * 1000)::float8 as "claimedUntil",
  o.due_at is null as dead, o.problem
from "holdfast".timeouts o
where o.env = $1 and o.scope = $2 and o.instance = $3 and not exists (select from written);

-- select_groups · run/groups.ts
-- Reads the numbers of claim groups.
select c.id, g.ord::int
from unnest(
  (select $1::text[]), (select $2::text[]), (select $3::text[]), (select $4::text[]), (select $5::text[])
) with ordinality as g (env, stack, queue, program, version, ord)
join "holdfast".claim_groups c using (env, stack, queue, program, version);

-- send_messages · inbox/send-messages.ts
-- Inserts messages into inboxes, each key once per run.
with m as materialized (
  select nextval('"holdfast".inbox_id') as id, m.*
  from unnest(
    (select $1::uuid[]), (select $2::text[]), (select $3::uuid[]), (select $4::text[]), (select $5::text[]),
      (select $6::text[]), (select $7::text[]), (select $8::text[])
  ) as m(run_id, key, message_id, kind, name, codec, data, sender)
)
insert into "holdfast".inbox (id, run_id, key, message_id, kind, name, codec, data, sender, at)
select m.id, m.run_id, m.key, m.message_id, m.kind, m.name, m.codec, m.data, m.sender, clock_timestamp()
from m
join "holdfast".runs r on r.id = m.run_id
  and r.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
order by m.run_id, m.key, m.id
on conflict do nothing
returning run_id, key, message_id;

-- send_to_instances · machine/timers.ts
-- Sends events to instances, each id once.
with t as materialized (select clock_timestamp() as now),
sent as (
  insert into "holdfast".timers (
    id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at
  )
  select x.id, x.instance,
    coalesce(
      (select i.claim_group from "holdfast".instances i where i.key = x.instance limit 1), x.claim_group
    ),
    x.generation, 'sent', x.name, x.codec, x.data,
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond',
    t.now + (x.delay_ms + (x.position - 1) * 0.001) * interval '1 millisecond'
  from unnest(
    (select $1::int[]), (select $2::uuid[]), (select $3::bigint[]), (select $4::uuid[]), (select $5::int[]),
      (select $6::text[]), (select $7::text[]), (select $8::text[]), (select $9::float8[])
  ) with ordinality as x (ord, id, generation, instance, claim_group, name, codec, data, delay_ms, position),
    t
  where (select i.status from "holdfast".instances i where i.key = x.instance limit 1) = 'active'
    and (
      select e.seq
      from "holdfast".instance_events e
      where e.instance = x.instance and e.key = x.id::text
      limit 1
    ) is null
  on conflict do nothing
)
select (select i.status from "holdfast".instances i where i.key = w.instance limit 1) as status,
  (
    select e.seq
    from "holdfast".instance_events e
    where e.instance = w.instance and e.key = w.id::text
    limit 1
  ) is not null as taken
from unnest(
  (select $1::int[]), (select $2::uuid[]), (select $3::bigint[]), (select $4::uuid[]), (select $5::int[]),
    (select $6::text[]), (select $7::text[]), (select $8::text[]), (select $9::float8[])
) with ordinality as w (ord, id, generation, instance, claim_group, name, codec, data, delay_ms, n)
order by w.n;

-- set_run_attributes · run/run-attributes.ts
-- Sets and removes attributes of a run.
with r as materialized (select id, claim_group from "holdfast".runs where id = $1),
given as materialized (select * from unnest((select $2::text[]), (select $3::text[])) as g (name, value)),
fits as materialized (
  select 8 >= (select count(*) from given where value is not null) + (
    select count(*)
    from "holdfast".run_attributes a
    where a.run_id = $1 and a.name <> all ($2)
  ) as fits
),
removed as (
  delete from "holdfast".run_attributes a
  where a.run_id = $1
    and a.name = any (array (select name from given where value is null))
    and (select fits from fits)
),
put as (
  insert into "holdfast".run_attributes (run_id, name, value, claim_group)
  select r.id, g.name, g.value, r.claim_group
  from r, given g
  where g.value is not null and (select fits from fits)
  on conflict (run_id, name) do update set value = excluded.value
)
select fits
from fits, r;

-- settle_debounced · event/settle-debounced.ts
-- Decides what a claimed run that gathers events does: begin, wait or merge.
with t as materialized (select clock_timestamp() as now),
mine as materialized (
  select r.id, r.created_at, g.env, j.codec, j.data
  from "holdfast".runs r
  cross join lateral (select env from "holdfast".claim_groups g where g.id = r.claim_group limit 1) g
  cross join lateral (
    select codec, data
    from "holdfast".journal j
    where j.run_id = r.id and j.seq = r.base_seq + 1
    limit 1
  ) j
  where r.id = $1 and r.epoch = $2 and r.token = $3::uuid and r.seq = $4
),
d as materialized (
  select x.run_id, x.last_at, x.codec, x.data
  from "holdfast".debounces x
  where (x.env, x.subscription, x.subject) = ((select env from mine), $5::text, $6::text)
  for update
),
f as materialized (
  select d.*, d.last_at + ($7::float8) * interval '1 millisecond' as quiet_at,
    case
      when d.run_id <> $1 then 'merged'
      when d.last_at + ($7::float8) * interval '1 millisecond' <= t.now then 'begins'
      else 'waits' end as outcome
  from d, t
),
ok as (
  update "holdfast".runs r
  set seq = r.seq + 1,
    token = null,
    owner = null,
    lease_until = null,
    crashes = 0,
    state = case
      when f.outcome = 'merged' then 'skipped'
      when f.outcome = 'waits' and r.limited then 'parked'
      else 'waiting' end,
    wake_at = case when f.outcome = 'waits' and r.limited then f.quiet_at end,
    available_at = case f.outcome when 'waits' then f.quiet_at else r.available_at end,
    generation = r.generation + (f.outcome = 'begins')::int,
    base_seq = case f.outcome when 'begins' then r.seq else r.base_seq end,
    failures = case f.outcome when 'begins' then 0 else r.failures end,
    ended_at = case f.outcome when 'merged' then t.now end
  from f, t
  where r.id = $1 and r.epoch = $2 and r.token = $3::uuid and r.seq = $4
  returning r.id as run_id, r.seq, f.outcome, f.codec, f.data
),
written as (
  insert into "holdfast".journal (run_id, seq, epoch, token, kind, name, codec, data, at)
  select ok.run_id, ok.seq, $2, $3::uuid,
    case ok.outcome when 'begins' then 'start' when 'waits' then 'parked' else 'skipped' end, '',
    case ok.outcome when 'begins' then ok.codec when 'merged' then 'json' end,
    case ok.outcome when 'begins' then ok.data when 'merged' then '{"code":"DEBOUNCED"}' end, t.now
  from ok, t
),
gone as (
  delete from "holdfast".debounces x
  where (x.env, x.subscription, x.subject) = ((select env from mine), $5::text, $6::text)
    and (select outcome from ok) = 'begins'
),
handed as (
  update "holdfast".debounces x
  set last_at = m.created_at, codec = m.codec, data = m.data
  from mine m
  where (x.env, x.subscription, x.subject) = ((select env from mine), $5::text, $6::text)
    and (select outcome from ok) = 'merged'
    and x.last_at < m.created_at
),
closed as (
  update "holdfast".inbox i
  set taken_seq = 0
  where i.run_id = (select run_id from ok where outcome = 'merged') and i.taken_seq is null
)
select outcome
from ok;

-- settle_timers · machine/timers.ts
-- Releases timers that could not be fired: for later, as dead, or removed.
with w as materialized (
  select w.*
  from unnest(
    (select $1::uuid[]), (select $2::bigint[]), (select $3::int[]), (select $4::text[]),
      (select $5::float8[]), (select $6::text[])
  ) as w(id, generation, attempts, how, delay_ms, problem)
  join "holdfast".timers x on x.id = w.id and x.generation = w.generation and x.attempts = w.attempts
  for no key update of x skip locked
),
kept as (
  update "holdfast".timers x
  set try_at = clock_timestamp() + (w.delay_ms) * interval '1 millisecond',
    claimed_until = null,
    problem = coalesce(w.problem, case w.how when 'untried' then x.problem end),
    state = case w.how when 'dead' then 'dead' else 'pending' end,
    attempts = case w.how
      when 'keep' then 0
      when 'untried' then greatest(x.attempts - 1, 0)
      else x.attempts end
  from w
  where x.id = w.id and x.generation = w.generation and x.attempts = w.attempts and w.how <> 'drop'
  returning x.id
),
dropped as (
  delete from "holdfast".timers x using w
  where x.id = w.id and x.generation = w.generation and x.attempts = w.attempts and w.how = 'drop'
  returning x.id
)
select (select count(*) from kept)::int + (select count(*) from dropped)::int as n;

-- size_run_ranges, failed, with attributes · run/run-ranges.ts
-- Counts, up to a bound, the runs that each condition of a list would have to look at.
select array[(
  select count(*)::int
  from (
    select
    from (
      select x.*
      from "holdfast".claim_groups g
      cross join lateral (
        select
        from "holdfast".run_attributes a
        where a.claim_group = g.id and a.name = $3 and a.value = $4
      ) x
      where g.env = $1 and g.program = $2
    ) x
    limit 1000
  ) y
),
  (
    select count(*)::int
    from (
      select
      from (
        select x.*
        from "holdfast".claim_groups g
        cross join lateral (
          select
          from "holdfast".run_attributes a
          where a.claim_group = g.id and a.name = $5 and a.value = $6
        ) x
        where g.env = $1 and g.program = $2
      ) x
      limit 1000
    ) y
  ),
  (
    select count(*)::int
    from (
      select
      from (
        select x.*
        from "holdfast".claim_groups g
        cross join lateral (
          select y.*
          from unnest(array[ 'failed']) as e (state)
          cross join lateral (
            select r.*
            from "holdfast".runs r
            where r.claim_group = g.id
              and r.state = e.state
              and r.ended_at < 'infinity'
              and (case when r.archived_at is null then 0 else 1 end) = 0
              and r.archived_at is null
              and r.state in ('failed')
            order by r.id desc
            limit 1000
          ) y
        ) x
        where g.env = $1 and g.program = $2
      ) x
      limit 1000
    ) y
  )] as sizes;

-- start_events · event/start-events.ts
-- Matches events with subscriptions and inserts the runs they start.
with t as materialized (select clock_timestamp() as now),
e as materialized (
  select n.*, n.plain::jsonb as payload, n.ord::int - 1 as position
  from unnest(
    (select $1::text[]), (select $2::text[]), (select $3::text[]), (select $4::text[]), (select $5::uuid[]),
      (select $6::text[]), (select $7::text[]), (select $8::text[]), (select $9::text[])
  ) with ordinality as n (env, stack, event, plain, id, key, payload_hash, codec, data, ord)
),
m as materialized (
  select e.position, e.env, e.key, e.payload_hash, e.codec, e.data, x.*
  from e
  cross join lateral (
    select (
      left(e.id::text, 24) || left(encode(sha256(convert_to(e.id::text || u.id, 'UTF8')), 'hex'), 12)
    )::uuid as id,
      left(
        encode(
          sha256(
            convert_to(e.env, 'UTF8') || '\x00'::bytea || convert_to(
              u.scope, 'UTF8'
            ) || '\x00'::bytea || convert_to(e.key, 'UTF8')
          ),
            'hex'
        ),
          32
      )::uuid as key_hash,
      u.id as subscription, u.scope, u.program as name, u.lifetime, u.key_ms, u.crash_limit,
      g.id as claim_group, 0 as priority, 0::float8 as delay_ms, null::uuid as parent_id,
      null::text as recovery,
      coalesce(u.debounce_ms is null and u.threshold is null and g.limits = '[]', false) as plain
    from "holdfast".subscriptions u
    left join lateral (
      select g.id, g.limits
      from "holdfast".claim_groups g
      where (g.env, g.stack, g.queue, g.program, g.version) = (u.env, u.stack, u.queue, u.program, u.version)
      limit 1
    ) g on true
    where u.env = e.env
      and u.stack = e.stack
      and u.event = e.event
      and (u.filters = '{}' or exists (select from unnest(u.filters) as f (f) where e.payload @> f.f))
    offset 0
  ) x
),
asked as materialized (
  select *
  from m
  where not ((position in (select position from m where not plain)) is not false)
),
k as (
  insert into "holdfast".run_keys (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
  select key_hash, env, scope, key, id, payload_hash, lifetime, t.now + (key_ms) * interval '1 millisecond'
  from asked, t
  order by key_hash, position
  on conflict do nothing
  returning run_id
),
new as materialized (select * from asked where ((id in (select run_id from k)) is not false)),
r as (
  insert into "holdfast".runs (
    id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
      recovery
  )
  select id, claim_group, priority, 'waiting',
    t.now + (delay_ms + position * 0.001) * interval '1 millisecond', crash_limit, parent_id, t.now, false,
    key_hash, recovery
  from new, t
),
j as (
  insert into "holdfast".journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now
  from new, t
),
f as materialized (
  select env, subscription, array_agg(position) as places,
    array_agg(position) filter (where ((id in (select run_id from k)) is not false)) as made
  from m
  group by env, subscription
)
select u.id, u.scope, u.env, nullif(u.stack, '') as stack, u.event, u.program, u.queue,
  nullif(u.version, '') as version, u.filters as "where", u.subject::json, u.debounce_ms as "debounceMs",
  case u.lifetime
    when 'timed' then json_build_object('forMs', coalesce(u.key_ms, 0))
    else to_json(u.lifetime) end as lifetime,
  u.crash_limit as "crashLimit",
  case
    when u.threshold is not null then json_build_object(
      'threshold', u.threshold, 'halfOpenMs', coalesce(u.half_open_ms, 0)
    ) end as breaker,
  f.places, f.made, coalesce(g.limits, '[]')::json as limits, g.id as claim_group,
  (
    select set_config(
      'holdfast.hint',
        (
          select case
            when count(distinct g) > 200 then 'any'
            else coalesce(string_agg(distinct g::text, ','), '') end
          from (select claim_group from new) as x (g)
        ),
        false
    )
  ) as hint
from f
cross join lateral (
  select *
  from "holdfast".subscriptions u
  where u.env = f.env and u.id = f.subscription
  limit 1
) u
left join lateral (
  select g.id, g.limits
  from "holdfast".claim_groups g
  where (g.env, g.stack, g.queue, g.program, g.version) = (u.env, u.stack, u.queue, u.program, u.version)
  limit 1
) g on true
order by u.id;

-- stop_node · node/nodes.ts
-- Notes that a node has stopped.
update "holdfast".nodes
set stopped_at = clock_timestamp()
where incarnation = $1 and stopped_at is null;

-- stop_progress · run/stop-requests.ts
-- Reads how far the cancel or pause of a run and its tasks has come.
with recursive tree(id, parent) as (
  select x.id, null::uuid
  from (select $1::uuid) as x (id)
  union all
  select j.key::uuid, tree.id
  from tree
  cross join lateral (select base_seq from "holdfast".runs r where r.id = tree.id limit 1) r
  cross join lateral (
    select key
    from "holdfast".journal j
    where j.run_id = tree.id and j.seq > r.base_seq and j.kind = 'task'
    offset 0
  ) j
),
l as materialized (
  select r.id, r.state, r.pausing
  from "holdfast".runs r
  where r.id = any (array (select id from tree))
    and r.state not in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
)
select (select state from "holdfast".runs where id = $1) as state,
  (select count(*)::int from l where state = 'running') as running,
  array (
    select l.id
    from l
    where exists (
      select
      from "holdfast".inbox i
      where i.run_id = l.id and i.taken_seq is null and (i.kind = 'cancel' or i.kind = 'pause' and l.pausing)
    )
  ) as unanswered;

-- take_cleanup_turn · clean-up.ts
-- Takes the turn to clean up one part of an env, if it is due.
insert into "holdfast".cleanups as c (env, part, at)
values ($1, $2, clock_timestamp())
on conflict (env, part) do update set at = excluded.at
where c.at <= excluded.at - ($3::float8) * interval '1 millisecond'
returning part;

-- take_output_key · key/output-keys.ts
-- Reserves the key of an output for a call, or shows which call has it.
insert into "holdfast".run_keys as k (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
values (
  $1, $2, 'key of an output', $3, $4, $5, 'timed', clock_timestamp() + ($6::float8) * interval '1 millisecond'
)
on conflict (hash) do update set run_id = case
  when k.expires_at <= excluded.expires_at - ($6::float8) * interval '1 millisecond' then excluded.run_id
  else k.run_id end,
  payload_hash = case
    when k.expires_at <= excluded.expires_at - (
      $6::float8
    ) * interval '1 millisecond' then excluded.payload_hash
    else k.payload_hash end,
  expires_at = case
    when k.expires_at <= excluded.expires_at - (
      $6::float8
    ) * interval '1 millisecond' then excluded.expires_at
    else k.expires_at end
returning run_id, payload_hash = $5 as taken;

-- take_probe · limit/breakers.ts
-- Takes the one probe that an open breaker allows.
insert into "holdfast".breaker_probes (env, program, opening, n, run_id, at)
values ($1, $2, $3, $4, $5::uuid, clock_timestamp())
on conflict do nothing
returning run_id;

-- unfit_parts · machine/machine-sql.ts
-- Finds out which event keys of appends are taken and which timers are missing.
select 'taken' as what, w.ord::int, w.key
from unnest((select $1::int[]), (select $2::uuid[]), (select $3::text[])) as w (ord, instance, key)
where (
  select e.seq
  from "holdfast".instance_events e
  where e.instance = w.instance and e.key = w.key
  limit 1
) is not null
union all
select 'gone', f.ord::int, null
from unnest((select $4::int[]), (select $5::uuid[]), (select $6::bigint[])) as f (ord, id, generation)
where (select x.id from "holdfast".timers x where x.id = f.id and x.generation = f.generation limit 1) is null;

-- unread_messages · inbox/send-messages.ts
-- Reads the unread messages of a run, the oldest first.
select run_id as "runId", key, message_id as "messageId", kind, name, codec, data, sender,
  floor(extract(epoch from at) * 1000)::float8 as at
from "holdfast".inbox
where run_id = $1 and taken_seq is null
order by id;

-- unserved_groups · run/deferred-runs.ts
-- Lists groups of other stacks that no live node serves.
select g.id,
  json_build_object(
    'env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program, 'version',
      nullif(g.version, '')
  ) as "group"
from "holdfast".claim_groups g
where g.env = $1
  and g.stack <> ''
  and g.stack <> $2
  and ($3::text[] is null or g.stack = any ($3::text[]))
  and exists (
    select
    from unnest((select $4::text[]), (select $5::text[]), (select $6::text[])) as p (queue, program, version)
    where (g.queue, g.program, g.version) = (p.queue, p.program, p.version)
  )
  and not exists (
    select
    from "holdfast".nodes n
    where n.env = g.env
      and n.stack = g.stack
      and n.stopped_at is null
      and g.id = any (n.claims)
      and n.seen_at >= clock_timestamp() - (3 * coalesce(n.heartbeat_ms, 5000)) * interval '1 millisecond'
  )
order by g.stack collate "C", g.queue collate "C", g.program collate "C", g.version collate "C";

-- use_token · audit/tokens.ts
-- Finds a valid token and notes its use.
with n as materialized (select clock_timestamp() as now),
found as materialized (
  select t.*
  from "holdfast".tokens t, n
  where t.hash = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > n.now)
),
noted as (
  update "holdfast".tokens t
  set last_used_at = n.now
  from found f, n
  where t.id = f.id
    and (t.last_used_at is null or t.last_used_at <= n.now - (60000) * interval '1 millisecond')
)
select t.id, t.name, t.may, t.envs, t.groups, t.created_by as by,
  floor(extract(epoch from t.created_at) * 1000)::float8 as created_at,
  floor(extract(epoch from t.expires_at) * 1000)::float8 as expires_at,
  floor(extract(epoch from t.last_used_at) * 1000)::float8 as last_used_at,
  floor(extract(epoch from t.revoked_at) * 1000)::float8 as revoked_at
from found t;

-- wake · connection/wake-sender.ts
-- Wakes nodes that claim from some groups.
select set_config('synchronous_commit', 'off', true), pg_notify($1, $2);

-- wake_holders · connection/wake-sender.ts
-- Wakes the holders of runs that were asked to stop.
select set_config('synchronous_commit', 'off', true), pg_notify($1, x)
from unnest($2::text[]) x;

-- wake_in · connection/wake-sender.ts
-- Wakes nodes when the caller's transaction commits, unless the queue of notifications is nearly full.
select pg_notify($1, $2)::text as sent
where pg_notification_queue_usage() < 0.9;

-- wake_left · connection/wake-sender.ts
-- Wakes the nodes for whom the statement before it on the same connection made work.
select set_config('synchronous_commit', 'off', true),
  pg_notify($1, case hint when 'any' then '' else hint end), set_config('holdfast.hint', '', false)
from (select current_setting('holdfast.hint', true) as hint offset 0) x
where hint <> '';

-- wake_parked · inbox/wake-parked.ts
-- Wakes parked runs whose time has come or whose inbox has what they wait for.
with t as materialized (select clock_timestamp() as now),
due as (
  select id
  from "holdfast".runs
  where state = 'parked' and wake_at <= (select clock_timestamp())
  order by wake_at, id
  limit $1
),
place as materialized (
  select coalesce(
    (select value from "holdfast".meta where key = 'mail_place'), '00000000-0000-0000-0000-000000000000'
  ) as at
),
seen as materialized (
  with recursive step(run_id, n) as (
    (
      select run_id, 1
      from "holdfast".inbox
      where taken_seq is null and run_id >= (select at::uuid from place)
      order by run_id
      limit 1
    )
    union all
    select i.run_id, step.n + 1
    from step
    cross join lateral (
      select run_id
      from "holdfast".inbox i
      where taken_seq is null and i.run_id > step.run_id
      order by i.run_id
      limit 1
    ) i
    where step.n <= 2000
  )
  select run_id, n
  from step
),
further as materialized (
  select coalesce(
    (select run_id::text from seen where n > 2000), '00000000-0000-0000-0000-000000000000'
  ) as at
),
noted as materialized (
  select key
  from "holdfast".meta
  where key = 'mail_place'
  for no key update skip locked
),
moved as (
  update "holdfast".meta m
  set value = f.at
  from noted k, further f, place p
  where m.key = k.key and f.at <> p.at
),
mail as materialized (
  select u.run_id as id, r.state, r.wake_after
  from (select run_id from seen where n <= 2000) u
  left join lateral (select state, wake_after from "holdfast".runs r where r.id = u.run_id limit 1) r on true
),
called as (
  select m.id
  from mail m
  cross join lateral (
    select count(*) as n, bool_or(kind <> 'child') as urgent
    from "holdfast".inbox i
    where i.run_id = m.id and i.taken_seq is null
  ) u
  where m.state = 'parked' and (u.urgent or u.n >= m.wake_after)
),
stray as materialized (
  select i.run_id, i.key
  from "holdfast".inbox i
  where i.run_id = any (
    array (
      select id
      from mail
      where state is null or state in ('completed', 'failed', 'cancelled', 'skipped', 'dead')
    )
  )
    and i.taken_seq is null
  order by i.run_id, i.key
  limit 2000
  for no key update skip locked
),
tidied as (
  update "holdfast".inbox i
  set taken_seq = 0
  from stray x
  where (i.run_id, i.key) = (x.run_id, x.key)
    and i.run_id = any (array (select run_id from stray))
    and i.taken_seq is null
),
woken as materialized (
  select r.id, r.wake_at, r.limited
  from "holdfast".runs r
  where r.id = any (array (select id from due union select id from called))
    and r.state is not distinct from 'parked'
  order by r.wake_at, r.id
  limit $1
  for no key update skip locked
),
free_limits as materialized (
  select l.run_id, l.stage
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from woken where limited))
  for no key update skip locked
),
free_mail as materialized (
  select i.run_id, i.key
  from "holdfast".inbox i
  where i.run_id = any (array (select null::uuid where false))
  for no key update skip locked
),
stuck as materialized (
  select l.run_id
  from "holdfast".run_limits l
  where l.run_id = any (array (select id from woken where limited))
    and ((l.run_id, l.stage) not in (select run_id, stage from free_limits)) is not false
  union
  select i.run_id
  from "holdfast".inbox i
  where i.run_id = any (array (select null::uuid where false))
    and ((i.run_id, i.key) not in (select run_id, key from free_mail)) is not false
),
awake as (
  update "holdfast".runs r
  set state = 'waiting',
    wake_at = null,
    available_at = t.now + ((n.ord - 1) * 0.001) * interval '1 millisecond'
  from unnest(
    array (
      select id
      from woken
      where not ((id in (select run_id from stuck)) is not false)
      order by wake_at, id
    )
  ) with ordinality as n (id, ord),
    t
  where r.id = n.id and r.state is not distinct from 'parked'
  returning r.id, r.claim_group, r.state
)
select id, claim_group, state
from awake;

-- wake_runs · inbox/wake-runs.ts
-- Wakes runs that have new messages.
with l as materialized (
  select w.*
  from unnest((select $1::uuid[]), (select $2::int[])) as w (run_id, n)
  join "holdfast".runs r on r.id = w.run_id
  order by r.id
  for no key update of r skip locked
)
update "holdfast".runs r
set inbox_seq = r.inbox_seq + l.n,
  state = case when r.state = 'parked' and (u.urgent or u.n >= r.wake_after) then 'waiting' else r.state end,
  available_at = case
    when r.state = 'parked' and (u.urgent or u.n >= r.wake_after) then clock_timestamp()
    else r.available_at end,
  wake_at = case when r.state = 'parked' and (u.urgent or u.n >= r.wake_after) then null else r.wake_at end
from l
cross join lateral (
  select count(*) as n, bool_or(kind <> 'child') as urgent
  from "holdfast".inbox i
  where i.run_id = l.run_id and i.taken_seq is null
) u
where r.id = l.run_id
returning r.id, r.claim_group, r.state;

-- wake_sweepers · timeout/timeout-wakes.ts
-- Wakes the sweepers of some scopes in other processes.
select set_config('synchronous_commit', 'off', true), count(pg_notify($1, h))
from unnest((select $2::text[])) as a (h);

-- wake_sweepers_in · timeout/timeout-wakes.ts
-- Wakes the sweepers of a scope when the caller's transaction commits, unless the queue of notifications is nearly full.
select pg_notify($1, $2)::text as sent
where pg_notification_queue_usage() < 0.9;

-- who_probes · limit/breakers.ts
-- Checks that a run has taken a probe.
select run_id
from "holdfast".breaker_probes
where env = $1 and program = $2 and opening = $3 and n = $4 and run_id = $5::uuid;

-- whose_instances · machine/machine-sql.ts
-- Finds out which calls created instances that exist already.
select i.input_hash, e.token = w.token as mine
from unnest((select $1::uuid[]), (select $2::uuid[])) with ordinality as w (key, token, ord)
left join lateral (select input_hash from "holdfast".instances i where i.key = w.key limit 1) i on true
left join lateral (
  select token
  from "holdfast".instance_events e
  where e.instance = w.key and e.seq = 1
  limit 1
) e on true
order by w.ord;

-- why_not_sent · inbox/send-messages.ts
-- Finds out why messages were not accepted.
select r.state, i.message_id, i.kind, i.sender
from unnest((select $1::uuid[]), (select $2::text[])) with ordinality as m (run_id, key, ord)
left join lateral (select state from "holdfast".runs r where r.id = m.run_id limit 1) r on true
left join lateral (
  select *
  from "holdfast".inbox i
  where i.run_id = m.run_id and i.key = m.key
  limit 1
) i on true
order by m.ord;

-- why_not_settled · event/settle-debounced.ts
-- Finds out why a gathering run was not settled.
select r.epoch = $2 and r.token = $3::uuid and r.seq = $4 as held,
  (
    select kind
    from "holdfast".journal j
    where j.run_id = $1 and j.seq = $4 + 1 and j.epoch = $2 and j.token = $3::uuid
  ) as kind
from "holdfast".runs r
where r.id = $1;

-- withdraw_subscriptions · event/subscriptions.ts
-- Withdraws subscriptions that a node no longer has.
delete from "holdfast".subscribers
where env = $1 and incarnation = $2::uuid and subscription = any ($3::text[]);

-- write_audit · audit/audited-statement.ts
-- Writes an audit row.
with audited as (
  insert into "holdfast".audit (id, at, env, by, via, action, object, before, after, note, request)
  values (
    $1::uuid, clock_timestamp(), $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,
      $9::text, $10::text
  )
  on conflict (id) do nothing
  returning id
)
select
from audited;

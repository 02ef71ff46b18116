// How many runs of an env are in each live state, by queue, counted from partial indexes: ended runs are not read.

/** Priorities of a group that are examined for its oldest waiting run, the most urgent first. */
const MOST_PRIORITIES = 100;

/**
 * CTEs that end with `depths (queue, state, n, oldest)`; `t (now)` comes before them. Each group counts at most `most` waiting
 * runs, and all groups together that many running, that many parked and that many others. `oldest`: when the first of the waiting runs became claimable.
 */
export const depths = (s: string, { env, most }: { env: string; most: string }) => `mine as materialized (
  select g.id, g.queue from ${s}.claim_groups g where g.env = ${env}
), waiting as materialized (
  select m.queue, c.n, o.oldest from mine m
  cross join lateral (
    select count(*)::int as n from (
      select from ${s}.runs r where r.claim_group = m.id and r.state = 'waiting' limit ${most}
    ) x
  ) c
  cross join lateral (
    with recursive line as (
      (select r.priority, r.available_at, 1 as i from ${s}.runs r
       where r.claim_group = m.id and r.state = 'waiting' order by r.priority, r.available_at limit 1)
      union all
      select n.*, l.i + 1 from line l cross join lateral (
        select r.priority, r.available_at from ${s}.runs r
        where r.claim_group = m.id and r.state = 'waiting' and r.priority > l.priority
        order by r.priority, r.available_at limit 1
      ) n where l.i < ${MOST_PRIORITIES}
    )
    select min(l.available_at) as oldest from line l where l.available_at <= (select now from t)
  ) o
  where c.n > 0
), others as materialized (
  (select r.claim_group, r.state from ${s}.runs r where r.state = 'running' limit ${most})
  union all
  (select r.claim_group, 'parked' from ${s}.runs r where r.state = 'parked' limit ${most})
  union all
  (select r.claim_group, r.state from ${s}.runs r where r.state in ('held', 'blocked', 'paused') limit ${most})
), counted as materialized (
  select o.claim_group, o.state, count(*)::int as n from others o group by 1, 2
), depths as materialized (
  select w.queue, 'waiting' as state, sum(w.n)::int as n, min(w.oldest) as oldest from waiting w group by 1
  union all
  select m.queue, c.state, sum(c.n)::int, null from counted c join mine m on m.id = c.claim_group group by 1, 2
)`;

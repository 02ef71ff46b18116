// Events: which programs they start, which nodes declared that, and what gathers while a subject is not quiet.

import type { Dialect } from "../connection/dialect.js";
import { ENDED_PARTS, endedPartOf } from "../run/ended-states.js";

export const events = ({ schema: s }: Dialect) => `
-- '' means none in stack and version. An event is for a subscription when its payload contains one of the filters.
create table ${s}.subscriptions (
  env          text not null,
  id           text collate "C" not null,
  -- Of its keys and subjects: the same in all stacks, or its id.
  scope        text collate "C" not null,
  stack        text not null,
  event        text not null,
  program      text not null,
  queue        text not null,
  version      text not null,
  filters      jsonb[] not null,
  subject      text,
  debounce_ms  float8,
  lifetime     text not null check (lifetime in ('live', 'archived', 'timed')),
  key_ms       float8,
  crash_limit  int not null,
  -- Of the program's circuit breaker, if it has one.
  threshold    int,
  half_open_ms float8,
  primary key (env, id)
);
-- The event first: with env first, a look-up by env and id that was planned while the table was empty took this one.
create index subscriptions_event on ${s}.subscriptions (event, env, stack);

create table ${s}.subscribers (
  env           text not null,
  subscription  text collate "C" not null,
  incarnation   uuid not null,
  primary key (env, subscription, incarnation)
);

-- The last event of a subject, until its run takes it. Nothing that changes is indexed, and half of each page is free, so
-- that the updates of a hot subject stay where they are.
create table ${s}.debounces (
  env           text not null,
  -- The scope of the subscription.
  subscription  text collate "C" not null,
  subject       text collate "C" not null,
  run_id        uuid not null,
  last_at       timestamptz not null,
  codec         text not null,
  data          text not null,
  primary key (env, subscription, subject)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The runs that may try while a circuit breaker is half-open: one for each failure that opened it, and another when that run
-- ended with neither success nor failure. Its state is read from the runs.
create table ${s}.breaker_probes (
  env      text not null,
  program  text not null,
  opening  text not null,
  n        int not null,
  run_id   uuid not null,
  at       timestamptz not null,
  primary key (env, program, opening, n)
);
create index breaker_probes_run on ${s}.breaker_probes (run_id);

-- The newest failures of a group after an instant, straight from the index of ended runs.
create function ${s}.last_failures(in_group int, after timestamptz, most int)
  returns table (id uuid, generation int, ended_at timestamptz) language sql stable
  set search_path = pg_catalog set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off as $$
  select r.id, r.generation, r.ended_at from ${s}.runs r
  where r.claim_group = in_group and ${endedPartOf("r")} = ${ENDED_PARTS.trouble} and r.ended_at > after and r.state in ('failed', 'dead')
  order by r.ended_at desc, r.id desc limit most
$$;
`;

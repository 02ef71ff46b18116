// Clean-up: when each part was last done, and the functions that its statements walk along.

import type { Dialect } from "../connection/dialect.js";

/** A function that reads rows straight from an index: without statistics, the planner reads and sorts all of them. */
const ORDERED = `language sql stable
  set search_path = pg_catalog set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off as`;

export const cleanup = ({ schema: s }: Dialect) => `
-- One row per env and part: when it was last done, and how far it came.
create table ${s}.cleanups (
  env    text not null,
  part   text not null,
  at     timestamptz not null,
  past   timestamptz not null default '-infinity',
  after  text collate "C" not null default '',
  primary key (env, part)
) with (fillfactor = 50);

-- The beginnings of all generations but a run's first: few entries, and nothing else is written here.
create index journal_generations on ${s}.journal (at, run_id) where kind = 'start' and seq > 1;

create function ${s}.generations_after(after_at timestamptz, after_run uuid, until timestamptz, most int)
  returns table (run_id uuid, seq bigint, name text, at timestamptz) ${ORDERED} $$
  select j.run_id, j.seq, j.name, j.at from ${s}.journal j
  where j.kind = 'start' and j.seq > 1 and (j.at, j.run_id) > (after_at, after_run) and j.at <= until
  order by j.at, j.run_id limit most
$$;

-- Signs of life change no column of it, so that they stay HOT.
create index nodes_started on ${s}.nodes (env, started_at);

create function ${s}.oldest_nodes(of_env text, most int) returns setof ${s}.nodes ${ORDERED} $$
  select n.* from ${s}.nodes n where n.env = of_env order by n.started_at limit most
$$;
-- The start of the node with this rank, the newest first.
create function ${s}.last_start(of_env text, skipped int) returns timestamptz ${ORDERED} $$
  select n.started_at from ${s}.nodes n where n.env = of_env order by n.started_at desc offset skipped limit 1
$$;

create function ${s}.leases_after(of_env text, after_key text, most int) returns setof ${s}.leases ${ORDERED} $$
  select l.* from ${s}.leases l where l.env = of_env and l.key > after_key order by l.key limit most
$$;

create function ${s}.debounces_after(of_env text, after_subscription text, after_subject text, most int)
  returns setof ${s}.debounces ${ORDERED} $$
  select d.* from ${s}.debounces d
  where d.env = of_env and (d.subscription, d.subject) > (after_subscription collate "C", after_subject collate "C")
  order by d.subscription, d.subject limit most
$$;

-- The keys of an env begin with its name; '0' comes after '/'.
create function ${s}.rates_after(of_env text, after_key text, most int) returns setof ${s}.limit_rates ${ORDERED} $$
  select r.* from ${s}.limit_rates r
  where r.key > greatest(of_env || '/', after_key) and r.key < of_env || '0' order by r.key limit most
$$;

-- Only keys that were reserved for a time: the others go with their run.
create index run_keys_timed on ${s}.run_keys (env, expires_at) where lifetime = 'timed';
create function ${s}.expired_keys(of_env text, until timestamptz, most int) returns setof ${s}.run_keys ${ORDERED} $$
  select k.* from ${s}.run_keys k
  where k.lifetime = 'timed' and k.env = of_env and k.expires_at <= until order by k.expires_at limit most
$$;

create function ${s}.ended_instances(of_group int, until timestamptz, most int) returns table (key uuid, ended_at timestamptz) ${ORDERED} $$
  select i.key, i.ended_at from ${s}.instances i
  where i.claim_group = of_group and i.ended_at is not null and i.ended_at <= until order by i.ended_at limit most
$$;

create index reclaimed_claims_at on ${s}.reclaimed_claims (at, run_id, epoch);
create function ${s}.reclaimed_after(after timestamptz, until timestamptz, most int) returns setof ${s}.reclaimed_claims ${ORDERED} $$
  select k.* from ${s}.reclaimed_claims k where k.at > after and k.at <= until order by k.at, k.run_id, k.epoch limit most
$$;

-- No lease key that was removed had a higher epoch: a key that is new, or comes back, begins above it.
create sequence ${s}.lease_floor minvalue 0 start 0;
`;

// The audit and the tokens of the admin API.

import { SHORTEST_AUDIT_DAYS } from "../../../kernel/setting/retention.js";
import type { Dialect } from "../connection/dialect.js";
import { ENDED } from "../run/ended-states.js";

export const audit = ({ schema: s }: Dialect) => `
-- Append-only: a trigger refuses every change, also to the owner of the schema, except that retention deletes old rows.
create table ${s}.audit (
  id       uuid primary key,
  at       timestamptz not null,
  env      text not null,
  by       text not null,
  via      text not null,
  action   text not null,
  object   text not null,
  before   text,
  after    text,
  note     text,
  request  text
);
create index audit_env on ${s}.audit (env, id);
create index audit_object on ${s}.audit (env, object, id);

create function ${s}.refuse_audit_change() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
  if tg_op = 'DELETE' and old.at <= clock_timestamp() - interval '${SHORTEST_AUDIT_DAYS} days' then return old; end if;
  raise exception 'audit rows are never changed, and deleted only after ${SHORTEST_AUDIT_DAYS} days' using errcode = 'HF002';
end $$;
create trigger refuse_audit_change before update or delete on ${s}.audit
  for each row execute function ${s}.refuse_audit_change();
-- Their ids are in the order of time.
create function ${s}.oldest_audit(of_env text, most int) returns setof ${s}.audit language sql stable
  set search_path = pg_catalog set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off as $$
  select a.* from ${s}.audit a where a.env = of_env order by a.id limit most
$$;

-- Only the SHA-256 of a secret is stored.
create table ${s}.tokens (
  id            uuid primary key,
  hash          text not null unique,
  name          text not null,
  may           text[] not null,
  envs          text[],
  groups        text[],
  created_by    text not null,
  created_at    timestamptz not null,
  expires_at    timestamptz,
  last_used_at  timestamptz,
  revoked_at    timestamptz
);

-- What the lists of open approvals, reclaimed claims and dead timers read. A question that was decided leaves the first with its run.
create index runs_asking on ${s}.runs (id) where asks and state not in ${ENDED};
create index journal_questions on ${s}.journal (run_id, seq) where kind = 'approval.begun';
create index timers_dead on ${s}.timers (claim_group, try_at) where state = 'dead';
`;

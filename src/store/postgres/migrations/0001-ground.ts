// The first schema: runs, their journal, inbox and keys, named leases, nodes; the registration of nodes, limits, schedules and
// events are in files of their own.

import type { Dialect } from "../connection/dialect.js";
import { attributes } from "./0001-attributes.js";
import { audit } from "./0001-audit.js";
import { claims } from "./0001-claims.js";
import { cleanup } from "./0001-cleanup.js";
import { definitions } from "./0001-definitions.js";
import { events } from "./0001-events.js";
import { kept } from "./0001-kept.js";
import { limits } from "./0001-limits.js";
import { machines } from "./0001-machines.js";
import { misfits } from "./0001-misfits.js";
import { modes } from "./0001-modes.js";
import { nodes } from "./0001-nodes.js";
import { programs } from "./0001-programs.js";
import { schedules } from "./0001-schedules.js";
import { statistics } from "./0001-statistics.js";
import { tasks } from "./0001-tasks.js";
import { timeouts } from "./0001-timeouts.js";

export const ground = {
  version: 1,
  name: "ground",
  sql: (dialect: Dialect) =>
    [
      groundSql,
      claims,
      nodes,
      limits,
      schedules,
      events,
      timeouts,
      kept,
      tasks,
      definitions,
      modes,
      misfits,
      machines,
      cleanup,
      audit,
      attributes,
      statistics,
      programs,
    ]
      .map((part) => part(dialect))
      .join(""),
};

const groundSql = ({ schema: s }: Dialect) => `
-- A run's env, stack, queue, program and version pin as one number: a claim is then one index range per group. The number is
-- made from them (groups.ts). '' means "any" in stack and version.
create table ${s}.claim_groups (
  id       int primary key,
  env      text not null,
  stack    text not null,
  queue    text not null,
  program  text not null,
  version  text not null,
  -- As declared by a node that serves the group, for callers that start a run without the code.
  limits   text not null default '[]',
  -- What happens to its runs when their holder died; NULL: no node has declared it.
  recovery text check (recovery in ('resume', 'restart', 'fail')),
  -- Whether its code cleans up after a cancel: a run that has begun is then cancelled by a node.
  cleans_up boolean not null default false,
  -- The node that declared these, and when it started: one that started earlier does not change them while it lives.
  declared_by    uuid,
  declared_start timestamptz,
  unique (env, stack, queue, program, version)
);
create index claim_groups_program on ${s}.claim_groups (env, program);

-- One row per run, small and hot: payloads are in the journal. No foreign keys, at most two indexes for each state
-- (nine cost a third of the jobs per second), none on lease_until (renewals would lose HOT).
create table ${s}.runs (
  id            uuid primary key,
  claim_group   int not null,
  priority      int not null,
  state         text not null,
  available_at  timestamptz not null,
  wake_at       timestamptz,
  lease_until   timestamptz,
  owner         uuid,
  token         uuid,
  epoch         bigint not null default 0,
  seq           bigint not null default 1,
  base_seq      bigint not null default 0,
  inbox_seq     bigint not null default 0,
  generation    int not null default 0,
  wake_after    int not null default 1,
  failures      int not null default 0,
  crashes       int not null default 0,
  crash_limit   int not null,
  -- What happens to it when its holder died; NULL: what was declared for its group.
  recovery      text,
  limited       boolean not null default false,
  parent_id     uuid,
  -- Of its dedupe key, which may belong to another run by now. An index of keys by run would be one more to write per start.
  key_hash      uuid,
  -- The tasks it waits for; whether it is a task whose end is still to be counted; whether it is paused when it is released.
  pending       int not null default 0,
  counts        boolean not null default false,
  pausing       boolean not null default false,
  -- Whether it has ever asked for an approval: the index of those that may still wait for one holds it until it ends.
  asks          boolean not null default false,
  -- Whose code was found in this generation not to fit the journal: builds, or incarnations where a build names two versions of code.
  misfits       text[],
  created_at    timestamptz not null,
  -- When it ended or was quarantined.
  ended_at      timestamptz,
  archived_at   timestamptz,
  constraint run_state_known check (state in ('blocked', 'held', 'waiting', 'running', 'parked', 'paused',
    'completed', 'failed', 'cancelled', 'skipped', 'dead', 'quarantined')),
  constraint run_token_only_while_running check ((state = 'running') = (token is not null)),
  constraint run_claim_is_whole check ((token is null) = (owner is null) and (token is null) = (lease_until is null)),
  constraint run_wakes_only_from_parked check (wake_at is null or state = 'parked'),
  constraint run_end_is_counted check (not counts or ended_at is null or state = 'quarantined'),
  constraint run_pauses_while_running check (not pausing or state = 'running')
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
        autovacuum_vacuum_cost_delay = 0);

create index runs_waiting on ${s}.runs (claim_group, priority, available_at) where state = 'waiting';
create index runs_running on ${s}.runs (owner, token) where state = 'running';
create index runs_parked on ${s}.runs (wake_at) include (claim_group) where state = 'parked';
-- What retention and the lists of troubled and archived runs read; the expression is in run/ended-states.ts, too.
create index runs_ended on ${s}.runs (claim_group,
  (case when archived_at is not null then 2 when state in ('failed', 'dead', 'quarantined') then 1 else 0 end),
  ended_at, id) where ended_at is not null;

-- Lists of ended runs, the newest first, and of those that wait for no node: a plain run enters the first once, and not the second.
-- The condition is true of every ended run, and only the lists ask for it: with that of runs_ended and old statistics, retention
-- read all of a group's ended runs from here.
create index runs_history on ${s}.runs (claim_group, state, (case when archived_at is null then 0 else 1 end), id)
  where ended_at < 'infinity';
create index runs_kept on ${s}.runs (claim_group, id) include (state) where state in ('held', 'blocked', 'paused');

create function ${s}.refuse_illegal_move() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
  if not (new.state = any (case old.state
    when 'blocked' then array['waiting', 'held', 'paused', 'cancelled', 'skipped', 'failed']
    when 'held' then array['waiting', 'paused', 'cancelled', 'skipped', 'failed']
    when 'waiting' then array['running', 'held', 'paused', 'cancelled', 'failed', 'quarantined']
    when 'running' then array['waiting', 'held', 'parked', 'paused', 'completed', 'failed', 'cancelled', 'skipped',
                              'dead', 'quarantined']
    when 'parked' then array['waiting', 'held', 'paused', 'cancelled', 'failed']
    when 'paused' then array['blocked', 'held', 'waiting', 'parked', 'cancelled', 'failed']
    when 'completed' then array['waiting', 'held', 'blocked']
    when 'failed' then array['waiting', 'held', 'blocked']
    when 'dead' then array['waiting', 'held', 'blocked']
    when 'quarantined' then array['waiting', 'held', 'blocked', 'paused', 'cancelled']
    when 'cancelled' then array['waiting', 'held', 'blocked']
    when 'skipped' then array['waiting', 'held', 'blocked']
    else array[]::text[] end))
    or (old.state in ('completed', 'failed', 'dead', 'cancelled', 'skipped') and new.generation <= old.generation)
    or (old.state = 'skipped' and not new.counts)
  then
    raise exception 'run %: % to % is not a legal move', old.id, old.state, new.state using errcode = 'HF001';
  end if;
  return new;
end $$;

-- The everyday moves are judged by the condition: a call takes 5 microseconds, and a task makes three.
create trigger refuse_illegal_move before update on ${s}.runs
  for each row when (old.state is distinct from new.state and case old.state
    when 'waiting' then new.state <> 'running'
    when 'running' then new.state not in ('completed', 'waiting', 'parked')
    when 'blocked' then new.state <> 'waiting'
    when 'parked' then new.state <> 'waiting'
    else true end)
  execute function ${s}.refuse_illegal_move();

-- Append-only. Entry base_seq + 1 is the start with the run's input, the last one of an ended run is its end.
-- By the token a repeated commit finds that it was written before.
create table ${s}.journal (
  run_id  uuid not null,
  seq     bigint not null,
  epoch   bigint not null,
  token   uuid,
  kind    text not null,
  name    text not null,
  key     text,
  codec   text,
  data    text,
  at      timestamptz not null,
  primary key (run_id, seq)
);

-- Dedupe keys are in a separate table, so that their lifetime is a policy and not the run's. The hash is of env, scope and key.
create table ${s}.run_keys (
  hash          uuid primary key,
  env           text not null,
  scope         text not null,
  key           text not null,
  run_id        uuid not null,
  payload_hash  text not null,
  lifetime      text not null check (lifetime in ('live', 'archived', 'timed')),
  expires_at    timestamptz
);
-- Lists by the beginning of a key: without it, they read every key (0.2 s for a million). It costs a start with a key 8 microseconds.
create index run_keys_key on ${s}.run_keys (env, key collate "C");

-- taken_seq: the journal entry that took the message; 0 when the run ended without reading it.
create sequence ${s}.inbox_id;
create table ${s}.inbox (
  id          bigint not null default nextval('${s}.inbox_id'),
  run_id      uuid not null,
  key         text not null,
  message_id  uuid not null,
  kind        text not null,
  name        text not null,
  codec       text,
  data        text,
  sender      text,
  at          timestamptz not null,
  taken_seq   bigint,
  primary key (run_id, key)
);
create index inbox_unread on ${s}.inbox (run_id) where taken_seq is null;

-- finished_token: the token that completed, failed or released it, so that the same call repeated finds its own effect.
create table ${s}.leases (
  env             text not null,
  key             text collate "C" not null,
  state           text not null check (state in ('claimed', 'done', 'failed')),
  owner           text not null,
  epoch           bigint not null,
  token           uuid,
  finished_token  uuid,
  attempt         int not null,
  lease_until     timestamptz not null,
  acquired_at     timestamptz not null,
  finished_at     timestamptz,
  detail          text,
  primary key (env, key)
) with (fillfactor = 70);
create index leases_claimed on ${s}.leases (env) where state = 'claimed';

create sequence ${s}.presence as int cycle;
create table ${s}.nodes (
  incarnation  uuid primary key,
  identity     text not null,
  name         text not null,
  env          text not null,
  stack        text,
  build        text,
  started_at   timestamptz not null,
  seen_at      timestamptz not null,
  stopped_at   timestamptz,
  -- The number of its session lock while it attends; when the lock was first seen gone.
  presence     int,
  absent_since timestamptz,
  -- The claim groups of its programs, and those of which it takes runs now; its heartbeat interval; the length of its leases.
  serves       int[] not null,
  -- Its executors with their slots and queues, for people.
  executors    jsonb not null default '[]',
  -- It renews nothing and reclaims nothing, and no other live node is in its env and stack.
  alone        boolean not null default false,
  claims       int[] not null,
  mode         text not null check (mode in ('full', 'trigger_only', 'disabled')),
  overrides    jsonb not null,
  drain        text check (drain in ('stay', 'exit')),
  heartbeat_ms bigint,
  lease_ms     bigint,
  -- How long its lock may be missing before other nodes count it as gone.
  presence_grace_ms bigint,
  -- By group: a digest of the limits and the recovery that it declares.
  declared     jsonb not null default '{}',
  -- Whether it has declared which events start its programs.
  declares     boolean not null default false,
  -- How its process fares, for people; no index, so that a heartbeat stays a HOT update.
  vitals       jsonb
) with (fillfactor = 50);
-- Where the next window over unread mail, and over lines of limits, begins. The rows are there from the start, so that no round
-- of housekeeping waits for another that makes them.
insert into ${s}.meta (key, value)
values ('mail_place', '00000000-0000-0000-0000-000000000000') on conflict do nothing;
`;

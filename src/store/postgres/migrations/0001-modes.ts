// Modes of nodes that outlive a restart, and deferred runs, which a node started for others to work on.

import type { Dialect } from "../connection/dialect.js";

export const modes = ({ schema: s }: Dialect) => `
create table ${s}.kept_modes (
  env        text not null,
  identity   text not null,
  mode       text not null check (mode in ('full', 'trigger_only', 'disabled')),
  overrides  jsonb not null,
  at         timestamptz not null,
  by         text not null,
  primary key (env, identity)
);

-- In a separate table, because few runs have one: the node that deferred it, until when a node must take it, and which node did.
create table ${s}.deferred_runs (
  run_id      uuid primary key,
  by          text not null,
  expires_at  timestamptz,
  taken_by    uuid,
  taken_at    timestamptz,
  -- No node took it, and it has not expired.
  pending     boolean not null default true
) with (fillfactor = 70);
create index deferred_runs_pending on ${s}.deferred_runs (expires_at) where pending;
`;

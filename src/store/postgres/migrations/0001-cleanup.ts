// Clean-up: who did what part of it last, and what its statements are led by.

import type { Dialect } from "../dialect.js";

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

-- Signs of life change no column of it, so that they stay HOT.
create index nodes_started on ${s}.nodes (env, started_at);

-- No lease key that was removed had a higher epoch: a key that is new, or comes back, begins above it.
create sequence ${s}.lease_floor minvalue 0 start 0;
`;

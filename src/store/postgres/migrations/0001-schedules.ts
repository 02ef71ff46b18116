// The table of schedules: what was declared, and the window up to which it is decided.

import type { Dialect } from "../connection/dialect.js";

/**
 * Few rows, looked up by id or read whole, so there is no index on next_at. '' means "any" in stack and version, as in
 * claim_groups. Windows are whole milliseconds, so that what was read is equal to what is stored.
 */
export const schedules = ({ schema: s }: Dialect) => `
create table ${s}.schedules (
  id         uuid primary key,
  env        text not null,
  stack      text not null,
  program    text not null,
  key        text not null,
  queue      text not null,
  version    text not null,
  spec       text not null,
  -- When it was first declared; decided up to here; when to decide next (null: never again).
  anchor     timestamptz not null,
  last_at    timestamptz not null,
  next_at    timestamptz,
  paused_at  timestamptz,
  paused_by  text,
  -- When a node last declared it.
  seen_at    timestamptz not null,
  unique (env, stack, program, key),
  constraint schedule_pause_is_whole check ((paused_at is null) = (paused_by is null))
) with (fillfactor = 50);
`;

// The table of runs whose journal some live code does not fit, so that they are found without an index on the hot table.

import type { Dialect } from "../connection/dialect.js";

/**
 * forget_misfits: another generation has another journal, and every node may try again. A trigger, so that no operation that begins a
 * generation can forget it; runs without misfits pay one test for NULL.
 */
export const misfits = ({ schema: s }: Dialect) => `
-- One row per run with misfits, until the run has ended. wanted: the build that wrote last, for people.
create table ${s}.misfit_runs (
  run_id       uuid primary key,
  env          text not null,
  claim_group  int not null,
  wanted       text,
  -- When housekeeping next looks whether a live node may try it.
  look_at      timestamptz not null
) with (fillfactor = 70);
create index misfit_runs_look on ${s}.misfit_runs (env, look_at);
create index misfit_runs_group on ${s}.misfit_runs (claim_group);

create function ${s}.forget_misfits() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
  new.misfits := null;
  return new;
end $$;

create trigger forget_misfits before update on ${s}.runs
  for each row when (old.misfits is not null and old.generation <> new.generation) execute function ${s}.forget_misfits();
`;

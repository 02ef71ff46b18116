// Statistics over time: starts and ends by program, depths by queue, in steps that grow with age.

import type { Dialect } from "../connection/dialect.js";

export const statistics = ({ schema: s }: Dialect) => `
-- The row without a program is the sum of its env.
create table ${s}.run_figures (
  env        text not null,
  at         timestamptz not null,
  step_ms    int not null,
  program    text collate "C" not null,
  queue      text collate "C" not null,
  started    int not null,
  completed  int not null,
  failed     int not null,
  dead       int not null,
  cancelled  int not null,
  skipped    int not null,
  -- Ended runs by the time since their creation.
  durations  int[] not null,
  primary key (env, step_ms, at, program, queue)
) with (fillfactor = 70);

create table ${s}.queue_figures (
  env        text not null,
  at         timestamptz not null,
  step_ms    int not null,
  queue      text collate "C" not null,
  waiting    int not null,
  running    int not null,
  parked     int not null,
  held       int not null,
  oldest_ms  bigint,
  primary key (env, step_ms, at, queue)
) with (fillfactor = 70);
`;

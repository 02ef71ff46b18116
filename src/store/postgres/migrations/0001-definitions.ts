// Programs as data: one row per definition, few rows, read whole when one of them has changed. And the body of each version: a run
// continues with the one it started with.

import type { Dialect } from "../connection/dialect.js";

export const definitions = ({ schema: s }: Dialect) => `
create table ${s}.definitions (
  env      text not null,
  kind     text not null,
  name     text not null,
  version  int not null,
  enabled  boolean not null,
  body     text not null,
  by       text not null,
  at       timestamptz not null,
  primary key (env, kind, name),
  constraint definition_kind_known check (kind in ('actor', 'dag'))
);

create table ${s}.definition_versions (
  env      text not null,
  kind     text not null,
  name     text not null,
  version  int not null,
  body     text not null,
  programs text[] not null,
  primary key (env, kind, name, version)
);
`;

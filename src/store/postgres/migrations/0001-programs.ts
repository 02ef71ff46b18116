// What programs look like, as nodes reported it: read by people only.

import type { Dialect } from "../connection/dialect.js";

export const programs = ({ schema: s }: Dialect) => `
create table ${s}.programs (
  env           text not null,
  name          text collate "C" not null,
  kind          text not null,
  -- JSON, with its fields in the order in which they were reported.
  shape         text,
  input_schema  text,
  at            timestamptz not null,
  primary key (env, name)
);
`;

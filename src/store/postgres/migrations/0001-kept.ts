// The table of kept values.

import type { Dialect } from "../connection/dialect.js";

/** Keys sort by code point, as in the memory store. */
export const kept = ({ schema: s }: Dialect) => `
create table ${s}.kept_values (
  env    text not null,
  space  text not null,
  key    text collate "C" not null,
  codec  text not null,
  data   text not null,
  at     timestamptz not null,
  until  timestamptz,
  primary key (env, space, key)
);
create index kept_values_until on ${s}.kept_values (env, until) where until is not null;
`;

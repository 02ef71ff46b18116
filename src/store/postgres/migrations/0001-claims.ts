// Reclaimed claims: which node held them, when they were reclaimed, and by which node.

import type { Dialect } from "../connection/dialect.js";

// In a separate table, because few runs have one. The tokens in a run's journal show its other holders.
export const claims = ({ schema: s }: Dialect) => `
create table ${s}.reclaimed_claims (
  run_id   uuid not null,
  epoch    bigint not null,
  owner    uuid not null,
  -- The node that reclaimed it; NULL: it was reclaimed on request.
  by       uuid,
  outcome  text not null,
  at       timestamptz not null,
  -- Whether it is one of the run's crashes; false once its holder gave a sign of life again. How many live holders had lost the run
  -- in a row before this one.
  counted  boolean not null,
  losses   int not null,
  -- Commits of its holder that came too late.
  refused  int not null default 0,
  primary key (run_id, epoch)
);
create index reclaimed_claims_owner on ${s}.reclaimed_claims (owner, at);
`;

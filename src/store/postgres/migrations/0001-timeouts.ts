// The table of timeouts: one row per instance of a scope, from scheduling until it fires or is cancelled.

import type { Dialect } from "../connection/dialect.js";

/**
 * due_at is the only time that is searched for: the deadline; while claimed, when the claim expires; after a failure, when to try
 * again; null: given up. So what is due is the head of one index, and claimed or failing rows are never in the way. Every schedule draws
 * a new generation, so it is unique, and writes under a claim find their row by it. Instances sort by code point, as in the memory store.
 * The primary key begins with the instance: when it began with env and scope, a planner without statistics used it for every look and
 * read all rows.
 */
export const timeouts = ({ schema: s }: Dialect) => `
create table ${s}.timeouts (
  env             text not null,
  scope           text not null,
  instance        text collate "C" not null,
  generation      uuid not null,
  state           text not null,
  sequence        bigint not null,
  deadline        timestamptz not null,
  due_at          timestamptz,
  created_at      timestamptz not null,
  attempts        int not null,
  claimed_by      text,
  claimed_until   timestamptz,
  token           uuid,
  -- The claim that released it last: a repeated call finds its own effect.
  released_token  uuid,
  problem         text,
  primary key (instance, scope, env),
  constraint timeout_claim_is_whole check ((token is null) = (claimed_by is null) and (token is null) = (claimed_until is null))
) with (fillfactor = 80);
create unique index timeouts_generation on ${s}.timeouts (generation);
create index timeouts_due on ${s}.timeouts (env, scope, due_at, instance);
create index timeouts_dead on ${s}.timeouts (env, scope, instance) where due_at is null;
`;

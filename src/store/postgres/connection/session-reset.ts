// Resets a session after a user's own statements in it.

import pg from "pg";

/** Asked when a session is set up, and known from then on. */
export const LOOK = "show role; show transaction_read_only";

const SETTINGS = "set session authorization default; reset role; reset all";

/** On a connection of the store, which is reset after the transaction: resets what could disturb the store's statements until then. */
export function giveBack(role: string, timeoutMs: number): string {
  const mine = role === "none" ? "" : `; set role ${pg.escapeIdentifier(role)}`;
  return `${SETTINGS}${mine}; set local statement_timeout = ${timeoutMs}; set local lock_timeout = ${Math.ceil(timeoutMs / 2)}`;
}

/**
 * Behind a transaction pooler the session is another client's after COMMIT: all that DISCARD ALL does, in the transaction, which
 * that refuses. Prepared statements of the protocol are the pooler's own and stay.
 */
export const GIVE_BACK_POOLED =
  "close all; unlisten *; select pg_advisory_unlock_all(); " +
  "do $$ declare made text; begin for made in select name from pg_catalog.pg_prepared_statements where from_sql " +
  "loop execute pg_catalog.format('deallocate %I', made); end loop; end $$; " +
  `${SETTINGS}; discard temp; discard sequences; set client_encoding = 'UTF8'`;

// Finds runs that are stuck: another transaction has locked one of their messages or places in line. They are left to the next
// round: waiting for one would hold up every other run of the statement.

import type { Dialect } from "./dialect.js";

/**
 * CTEs that lock those rows and end in `stuck`: the runs that must be left alone. `limited` and `mail`: texts of queries for the runs
 * whose limits, and whose messages, the statement will write.
 */
export function stuckParts({ schema: s }: Dialect, limited: string, mail: string): string {
  return `free_limits as materialized (
  select l.run_id, l.stage from ${s}.run_limits l where l.run_id = any(array(${limited})) for no key update skip locked
), free_mail as materialized (
  select i.run_id, i.key from ${s}.inbox i where i.run_id = any(array(${mail})) for no key update skip locked
), stuck as materialized (
  select l.run_id from ${s}.run_limits l
  where l.run_id = any(array(${limited})) and ((l.run_id, l.stage) not in (select run_id, stage from free_limits)) is not false
  union
  select i.run_id from ${s}.inbox i
  where i.run_id = any(array(${mail})) and ((i.run_id, i.key) not in (select run_id, key from free_mail)) is not false
)`;
}

/** For a statement that writes none of the two. */
export const NO_RUNS = "select null::uuid where false";

export const isStuck = (runId: string) => `((${runId} in (select run_id from stuck)) is not false)`;

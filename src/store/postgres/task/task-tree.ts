// Finds a run's tasks and their tasks in the journals, which name them.

import type { Dialect } from "../connection/dialect.js";

/**
 * Whether a row of `runs` is a task of another run: its parent's journal names it, also in an earlier generation. Not by
 * EXISTS, which a planner without statistics answers by a hash of the whole journal.
 */
export function isTask({ schema: s }: Dialect, row: string): string {
  return `coalesce((select true from ${s}.journal n where n.run_id = ${row}.parent_id and n.kind = 'task'
    and n.key = ${row}.id::text limit 1), false)`;
}

/**
 * A CTE `tree` (id, parent) for `with recursive`, given a query for the runs to begin with. Of the current generation. OFFSET 0 keeps
 * the planner on each run's own entries: joined, it read the journals of all runs.
 */
export function taskTree({ schema: s }: Dialect, roots: string): string {
  return `tree(id, parent) as (
  select x.id, null::uuid from (${roots}) as x(id)
  union all
  select j.key::uuid, tree.id from tree
  cross join lateral (select base_seq from ${s}.runs r where r.id = tree.id limit 1) r
  cross join lateral (
    select key from ${s}.journal j where j.run_id = tree.id and j.seq > r.base_seq and j.kind = 'task' offset 0
  ) j
)`;
}

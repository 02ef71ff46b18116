// A run that is retried from the start leaves its tasks: waiting ones are cancelled, running ones are asked to end,
// and their ends are not counted. (Counted, they woke the run before its new tasks had ended, again and again until then.)

import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { IDS } from "../connection/rowset.js";
import { cancelTasksOf } from "../run/cancel-run.js";
import { isTask, taskTree } from "./task-tree.js";

/** Of these runs, those that are to start again and have tasks under way. */
export const findRunsWithTasks = statement(
  "find_runs_with_tasks",
  "Finds the runs of a retry from the start whose tasks still work.",
  (d) => `
select r.id from ${IDS.from(1).as("w")}
cross join lateral (
  select id from ${d.schema}.runs r
  where r.id = w.id and r.state in ('failed', 'dead', 'quarantined') and r.pending > 0 and not ${isTask(d, "r")} limit 1
) r
order by 1`,
);

/** What is left runs. Locked in the order of the ids, as in every statement that acts on a run and its tasks. */
export const leaveTasks = statement("leave_tasks", "Stops counting the tasks of runs that start again.", (d) => {
  const { schema: s } = d;
  return `
with recursive ${taskTree(d, "select unnest($1::uuid[])")}
, l as materialized (
  select r.id from ${s}.runs r where r.id = any(array(select id from tree)) order by r.id for no key update
)
update ${s}.runs r set counts = false
where r.id = any(array(select id from l)) and r.counts and r.parent_id = any($1::uuid[])`;
});

export async function leave(db: Database, runIds: readonly string[], by: string): Promise<void> {
  const busy = (await db.run<{ id: string }>(findRunsWithTasks, IDS.arrays(runIds))).map(({ id }) => id);
  if (busy.length === 0) return;
  for (const id of busy) await cancelTasksOf(db, id, { by, reason: STARTS_OVER });
  await db.run(leaveTasks, [busy]);
}

/** Stored with the cancel of each task. */
export const STARTS_OVER = "its run starts over";

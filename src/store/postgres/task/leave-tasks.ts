// A run that died before its tasks and begins anew leaves them: those that wait are cancelled, those that run are asked to end,
// and their ends count nowhere. (Counted, they woke the run before its new tasks had ended, again and again until then.)

import { unnest } from "../connection/batch.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { cancelTasksOf } from "../run/cancel-run.js";
import { isTask, taskTree } from "./task-tree.js";

/** Of these runs, those that are to begin anew and have tasks under way. */
export const findBusy = statement(
  "find_busy",
  (d) => `
select r.id from ${unnest(1, ["uuid"])} as w(id)
cross join lateral (
  select id from ${d.schema}.runs r
  where r.id = w.id and r.state in ('failed', 'dead', 'quarantined') and r.pending > 0 and not ${isTask(d, "r")} limit 1
) r
order by 1`,
);

/** What is left runs. Locked in the order of the ids, as by everybody who acts on a run and its tasks. */
export const leaveTasks = statement("leave_tasks", (d) => {
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
  const busy = (await db.run<{ id: string }>(findBusy, [runIds])).map(({ id }) => id);
  if (busy.length === 0) return;
  for (const id of busy) await cancelTasksOf(db, id, by, ANEW);
  await db.run(leaveTasks, [busy]);
}

export const ANEW = "its run starts over";

// Finds how far a cancel or a pause has come: which runs of a tree have it in their inbox and have not read it.

import type { RunState } from "../../../kernel/run/run-state.js";
import type { StopProgress } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { taskTree } from "../task/task-tree.js";
import { ENDED } from "./ended-states.js";

/**
 * A cancel counts in every state of its run: a run that was released with it and has tasks may have started some of them since.
 * A pause counts while it is wanted: after a resume its message may still be there.
 */
export const stopProgress = statement(
  "stop_progress",
  "Reads how far the cancel or pause of a run and its tasks has come.",
  (d) => {
    const { schema: s } = d;
    return `
with recursive ${taskTree(d, "select $1::uuid")}
, l as materialized (
  select r.id, r.state, r.pausing from ${s}.runs r where r.id = any(array(select id from tree)) and r.state not in ${ENDED}
)
select (select state from ${s}.runs where id = $1) as state,
  (select count(*)::int from l where state = 'running') as running,
  array(
    select l.id from l where exists (
      select from ${s}.inbox i
      where i.run_id = l.id and i.taken_seq is null and (i.kind = 'cancel' or i.kind = 'pause' and l.pausing)
    )
  ) as unanswered`;
  },
);

async function stopping(db: Database, runId: string): Promise<StopProgress | null> {
  const [row] = await db.run<{ state: RunState | null; running: number; unanswered: string[] }>(stopProgress, [runId]);
  const { state, running, unanswered } = row!;
  if (state === null) return null;
  // The first call may have come before its holder knew of its claim.
  db.onCalled(unanswered);
  return { state, running, unanswered: unanswered.length };
}

export const stopRequests = { stopping };

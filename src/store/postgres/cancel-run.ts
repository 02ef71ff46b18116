// Cancels a run: at once when nobody holds it, by a message to its holder when somebody does.

import { isUuid } from "../../kernel/id.js";
import { nodeName } from "../../kernel/name.js";
import type { EndedState, RunState } from "../../kernel/run-state.js";
import { isEnded } from "../../kernel/run-state.js";
import { checkName, checkText, optional } from "../check/value.js";
import type { CancelAnswer } from "../contract/runs.js";
import { admitAfter } from "./admit-runs.js";
import type { Database } from "./database.js";
import { statement } from "./dialect.js";
import { endNotices } from "./end-notices.js";
import { ENDED } from "./ended-states.js";
import { ring } from "./ring.js";

/**
 * The row is judged as it was locked (`l`), not as the statement's snapshot shows it: a sweep that committed while we
 * waited for its lock would hide the row from a predicate on `r.state`, and the cancel would be answered but not done.
 */
export const cancelRun = statement("cancel_run", (d) => {
  const { schema: s, now } = d;
  return `
with l as materialized (
  select id, state from ${s}.runs where id = $1 for no key update
), t as materialized (select ${now} as now
), cancelled as (
  update ${s}.runs r set state = 'cancelled', seq = r.seq + 1, wake_at = null, ended_at = t.now
  from l, t
  where r.id = l.id and l.state <> 'running' and l.state not in ${ENDED}
  returning r.id as run_id, r.seq, r.parent_id, r.state, r.limited
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'cancelled', '', 'json', $3, t.now from cancelled, t
), requested as (
  insert into ${s}.inbox (run_id, key, message_id, kind, name, codec, data, sender, at)
  select id, 'cancel', id, 'cancel', 'cancel', 'json', $3, $2, t.now from l, t where l.state = 'running'
  on conflict do nothing
  returning run_id
), ended as (select run_id, parent_id, state from cancelled
), ${endNotices(d)}
select l.state, (select run_id from requested) as requested, (select run_id from told) as told,
  (select run_id from cancelled where limited) as left_line
from l`;
});

interface Row {
  state: RunState;
  requested: string | null;
  told: string | null;
  /** It had limits: somebody may take its place. */
  left_line: string | null;
}

export async function cancel(
  db: Database,
  runId: string,
  by: string,
  reason: string | undefined,
): Promise<CancelAnswer> {
  const error = checkName(nodeName, "by", by) ?? optional(checkText)("reason", reason);
  if (error) throw error;
  if (!isUuid(runId)) return { outcome: "unknown" };
  const data = JSON.stringify({ by, reason: reason ?? null });
  const [row] = await db.run<Row>(cancelRun, [runId, by, data]);
  if (!row) return { outcome: "unknown" };
  const rung = row.requested ?? row.told;
  if (rung) await ring(db, [rung]);
  if (row.left_line) await admitAfter(db, [row.left_line]);
  if (row.state === "running") return { outcome: "requested" };
  if (row.state === "cancelled" || !isEnded(row.state)) return { outcome: "cancelled" };
  return { outcome: "ended", state: row.state satisfies EndedState };
}

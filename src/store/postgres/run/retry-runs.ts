// Retries ended runs, for an operator: from where they failed, or from their start. One statement, each run once.

import type { RunState } from "../../../kernel/run/run-state.js";
import type { RetryAnswer, RetryCall } from "../../contract/run/retry.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { IDS } from "../connection/rowset.js";
import { leave } from "../task/leave-tasks.js";
import { reopen } from "../task/retry-tasks.js";
import { isTask } from "../task/task-tree.js";
import { ENDED } from "./ended-states.js";

/**
 * A quarantined task has not ended and is still waited for: it is the only task that can be retried alone, where it was. A
 * completed run is opened when tasks of it were, or to be rewound.
 */
const OPENS = `(l.state in ('failed', 'dead', 'quarantined') or l.state = 'completed' and $7::bool and r.pending > 0
      or l.state in ('completed', 'cancelled', 'paused') and $8::bool)
    and (l.task_of is null or (l.state = 'quarantined' and not $2::bool))`;

/**
 * All rows are locked first, in the order of their ids; the locked row decides. Messages that had arrived too late for the
 * run's end are unread again, except a request to cancel it. The same call
 * repeated finds its entry in the journal.
 */
export const retryRuns = statement(
  "retry_runs",
  "Retries ended runs, from where they failed or from the start.",
  (d) => {
    const { schema: s, now } = d;
    return `
with t as materialized (select ${now} as now
), l as materialized (
  select r.id, r.state, r.seq, r.base_seq, r.claim_group, case when ${isTask(d, "r")} then r.parent_id end as task_of
  from ${s}.runs r
  where r.id = any(array(select id from ${IDS.from(1).as("w")})) order by r.id for no key update
), o as (
  update ${s}.runs r
  set state = 'waiting', generation = r.generation + 1, seq = l.seq + 1,
      base_seq = case when $2::bool then l.seq else l.base_seq end, pending = case when $2::bool then 0 else r.pending end,
      failures = 0, crashes = 0, wake_at = null, ended_at = null, archived_at = null, available_at = t.now
  from l, t
  where r.id = l.id and ${OPENS}
  returning r.id, r.seq, l.base_seq as old_base
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, key, codec, data, at)
  select o.id, o.seq, 0, case when $2::bool then 'start' else 'retried' end, $3::text, $4::text,
    case when $2::bool then j.codec else $5::text end, case when $2::bool then j.data else $6::text end, t.now
  from o cross join t
  left join lateral (select codec, data from ${s}.journal j where j.run_id = o.id and j.seq = o.old_base + 1 limit 1) j on true
), forgotten as (
  delete from ${s}.inbox i where i.run_id = any(array(select id from o)) and i.key = 'cancel'
), reopened as (
  update ${s}.inbox i set taken_seq = null
  where i.run_id = any(array(select id from o)) and i.taken_seq = 0 and i.key <> 'cancel'
)
select l.id, l.state, l.claim_group, l.task_of, l.id in (select id from o) as opened,
  l.state not in ${ENDED} and exists (
    select from ${s}.journal j where j.run_id = l.id and j.seq > l.base_seq - 1 and j.key = $4::text and j.epoch = 0
  ) as mine
from l`;
  },
);

interface Row {
  id: string;
  state: RunState;
  claim_group: number;
  task_of: string | null;
  opened: boolean;
  mine: boolean;
}

async function retry(db: Database, runIds: readonly string[], options: RetryCall): Promise<readonly RetryAnswer[]> {
  const { by, callId, fromStart, note, tasks, rewinds = false } = options;
  await (fromStart ? leave(db, runIds, by) : reopen(db, runIds, options));
  const values = [...IDS.arrays(runIds), fromStart, by, callId, note?.codec, note?.data, tasks !== undefined, rewinds];
  const rows = await db.run<Row>(retryRuns, values);
  db.onWork(rows.filter(({ opened }) => opened).map(({ claim_group }) => claim_group));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return runIds.map((id): RetryAnswer => {
    const row = byId.get(id);
    if (!row) return { outcome: "unknown" };
    if (row.opened || row.mine) return { outcome: "retried" };
    return row.task_of === null ? { outcome: "not retryable", state: row.state } : { outcome: "task", of: row.task_of };
  });
}

export const retries = { retry };

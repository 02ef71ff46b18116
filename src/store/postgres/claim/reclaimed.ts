// After claims were reclaimed: wakes the parents of runs that ended, and ends tasks, each in a statement of its own.

import type { Reclaimed } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { StoreUnavailable } from "../connection/errors.js";
import { wakeRuns } from "../inbox/wake-runs.js";
import { endNotices } from "../run/end-notices.js";
import { announceReady, countDown, READY, type Ready, TURN, takeTurn } from "../task/count-down.js";
import { noteReclaimed, reason } from "./reclaim-orphans-sql.js";

export interface ReclaimedRow {
  run_id: string | null;
  claim_group: number | null;
  verdict: Reclaimed["outcome"];
  owner: string;
  epoch: string;
  crashes: number;
  expired_for_ms: number;
  lease_ms: number | null;
  identity: string | null;
  name: string | null;
  notified: string | null;
  /** A task that is to end, held in this epoch. */
  ending_task: string | null;
  gone: boolean | null;
}

/** Columns that show which node held a claim. A node that is alone does not renew, so its lease proves nothing. */
export function previousOwner(schema: string, owner: string): string {
  const column = (sql: string) => `(select ${sql} from ${schema}.nodes n where n.incarnation = ${owner})`;
  const leaseMs = column("case when n.alone then null else n.lease_ms::float8 end");
  return `${leaseMs} as lease_ms, ${column("n.identity")} as identity, ${column("n.name")} as name`;
}

/** How long it waits for the rows that count the task down: other reclaimed runs wait meanwhile. */
const LOCK_WAIT_MS = 300;

/**
 * A task whose claims ended in a crash as often as its limit allows, or that is given up with its first. The whole precondition is repeated on the locked row; of
 * a claim that was granted since, the epoch is another. One at a time: it happens rarely, and a statement writes a row once.
 */
export const endCrashedTask = statement(
  "end_crashed_task",
  "Ends a task that has crashed too often, or whose recovery policy is to fail.",
  (d) => {
    const { schema: s, now } = d;
    return `
with t as materialized (select ${now} as now, set_config('lock_timeout', '${LOCK_WAIT_MS}', true) as patience
), ${takeTurn(d, "select $1::uuid", "(select patience from t) is not null")}
, l as materialized (
  select id, owner, lease_until from ${s}.runs
  where id = $1 and epoch = $2 and token is not null and counts and (crashes >= crash_limit or $4 = 'failed')
    and (lease_until <= (select now from t) or $3::bool) and ${TURN}
  for no key update skip locked
), ended_task as (
  update ${s}.runs r
  set state = $4::text, seq = r.seq + 1, crashes = $6::int, ended_at = t.now, counts = false, token = null, owner = null, lease_until = null
  from l, t
  where r.id = l.id and r.epoch = $2 and r.token is not null and r.counts and (r.crashes >= r.crash_limit or $4 = 'failed')
    and (r.lease_until <= t.now or $3::bool)
  returning r.id as run_id, r.state, r.state as verdict, r.seq, r.crashes, r.parent_id, l.owner, r.epoch, l.lease_until,
    true as counted, 0 as losses
), ended as (select run_id, parent_id, state, true as counted from ended_task
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, verdict, '', 'json', ${reason(d, "ended_task")}, t.now from ended_task, t
), ${noteReclaimed(d, "ended_task", "$5::uuid")}, ${endNotices(d)}, ${countDown(d)}
select run_id, verdict, owner, epoch, crashes, floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  ${previousOwner(s, "ended_task.owner")},
  (select run_id from notified) as notified, ${READY} as ready
from ended_task, t`;
  },
);

/** A node leaves a task whose related rows are locked to its next round; a call on request waits for them. */
async function endTask(db: Database, row: ReclaimedRow, by: string | null): Promise<ReclaimedRow[]> {
  const { ending_task, epoch, gone, verdict, crashes } = row;
  const values = [ending_task, epoch, gone === true, verdict, by, crashes];
  const ending = db.run<ReclaimedRow & { ready: Ready }>(endCrashedTask, values, { once: by !== null });
  const rows = await ending.catch((error) => {
    if (by === null || !(error instanceof StoreUnavailable)) throw error;
    return [];
  });
  for (const { ready } of rows) await announceReady(db, ready);
  const parents = rows.flatMap((row) => row.notified ?? []);
  await wakeRuns(db, parents);
  return rows;
}

function longestFirst(a: ReclaimedRow, b: ReclaimedRow): number {
  return b.expired_for_ms - a.expired_for_ms || (a.run_id! < b.run_id! ? -1 : 1);
}

/** Returns what was reclaimed. `by`: the node that reclaimed; null: a call on request. */
export async function settleReclaimed(
  db: Database,
  rows: readonly ReclaimedRow[],
  by: string | null,
): Promise<readonly Reclaimed[]> {
  const parents = rows.flatMap((row) => row.notified ?? []);
  await wakeRuns(db, parents);
  const tasks: ReclaimedRow[] = [];
  for (const row of rows) if (row.ending_task !== null) tasks.push(...(await endTask(db, row, by)));
  const all = tasks.length > 0 ? [...rows, ...tasks].sort(longestFirst) : rows;
  return all
    .filter((row) => row.run_id !== null)
    .map((row) => ({
      runId: row.run_id!,
      outcome: row.verdict,
      previousOwner: row.owner,
      previousIdentity: row.identity,
      previousName: row.name,
      epoch: Number(row.epoch),
      crashes: row.crashes,
      expiredForMs: row.expired_for_ms,
      renewedAgoMs: row.lease_ms === null ? null : row.expired_for_ms + row.lease_ms,
    }));
}

// Takes back claims whose lease is over. Changes state only: the ordinary claim picks the run up again.

import type { Reclaimed } from "../contract/runs.js";
import type { Database } from "./database.js";
import { type Dialect, statement } from "./dialect.js";
import { ring } from "./ring.js";
import { takeBackParts } from "./take-back.js";

/**
 * CTEs that end in `swept` and `told`, given one `t` with the time. The UPDATE repeats the precondition on rows it has
 * locked; two sweepers never act on one list. (Only running rows have a lease. With the state in the predicate, the
 * planner read the whole index of running rows a second time.) What becomes of a run is its program's to say.
 */
export function sweepParts(d: Dialect, limit: string, condition = "true", gone = ""): string {
  const { schema: s, now } = d;
  const over = (row: string, time: string) =>
    `(${row}lease_until <= ${time}${gone && ` or ${row}owner = any(${gone})`})`;
  return `expired as materialized (
  select id, owner, lease_until, base_seq, crashes, crash_limit,
    (select g.recovery from ${s}.claim_groups g where g.id = claim_group) as policy
  from ${s}.runs
  where ${condition} and state = 'running' and ${over("", `(select ${now})`)}
  order by lease_until, id
  limit ${limit}
  for no key update skip locked
), ${takeBackParts(d, over("r.", "t.now"))}`;
}

export const RECLAIMED = ({ schema: s }: Dialect) => `
select run_id, verdict, owner, epoch, crashes, floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  (select n.lease_ms::float8 from ${s}.nodes n where n.incarnation = x.owner) as lease_ms, null::uuid as told
from (select * from swept order by lease_until, run_id) x, t
union all
select null, null, null, null, null, null, null, run_id from told`;

export const sweepExpired = statement(
  "sweep_expired",
  (d) => `
with t as materialized (select ${d.now} as now
), ${sweepParts(d, "$1")}${RECLAIMED(d)}`,
);

export interface ReclaimedRow {
  run_id: string | null;
  verdict: Reclaimed["outcome"];
  owner: string;
  epoch: string;
  crashes: number;
  expired_for_ms: number;
  lease_ms: number | null;
  told: string | null;
}

export async function sweep(db: Database, limit: number): Promise<readonly Reclaimed[]> {
  return tellParents(db, await db.run<ReclaimedRow>(sweepExpired, [limit]));
}

/** Rings the parents of those that ended, and answers what was taken back. */
export async function tellParents(db: Database, rows: readonly ReclaimedRow[]): Promise<readonly Reclaimed[]> {
  const parents = rows.flatMap((row) => row.told ?? []);
  if (parents.length > 0) await ring(db, parents);
  return rows
    .filter((row) => row.run_id !== null)
    .map((row) => ({
      runId: row.run_id!,
      outcome: row.verdict,
      previousOwner: row.owner,
      epoch: Number(row.epoch),
      crashes: row.crashes,
      expiredForMs: row.expired_for_ms,
      renewedAgoMs: row.lease_ms === null ? null : row.expired_for_ms + row.lease_ms,
    }));
}

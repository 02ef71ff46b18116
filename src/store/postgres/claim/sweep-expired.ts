// Takes back claims whose lease is over. Changes state only: the ordinary claim picks the run up again.

import type { Reclaimed } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { inEnv } from "../node/presence-sql.js";
import { previousOwner, type ReclaimedRow, settleReclaimed } from "./reclaimed.js";
import { EXPIRED, takeBackParts } from "./take-back.js";

interface Orphans {
  readonly limit: string;
  /** The node that sweeps. */
  readonly by: string;
  readonly condition: string;
  /** Whether a claim is to be taken, at a time. */
  readonly over: (time: string) => string;
  /** Whatever the lease. */
  readonly isGone: string;
}

/**
 * CTEs that end in `swept`, `told` and `doomed`, given one `t` with the time. The UPDATE repeats the precondition on rows it
 * has locked; two sweepers never act on one list. (Only running rows have a lease. With the state in the predicate, the
 * planner read the whole index of running rows a second time.) What becomes of a run is its program's to say.
 */
export function orphanParts(d: Dialect, { limit, by, condition, over, isGone }: Orphans): string {
  const { schema: s, now } = d;
  return `expired as materialized (
  select ${EXPIRED}, ${isGone} as gone,
    coalesce(r.recovery, (select g.recovery from ${s}.claim_groups g where g.id = r.claim_group)) as policy
  from ${s}.runs r
  where ${condition} and r.state = 'running' and ${over(`(select ${now})`)}
  order by r.lease_until, r.id
  limit ${limit}
  for no key update skip locked
), ${takeBackParts(d, over("t.now"), by)}`;
}

export const RECLAIMED = ({ schema: s }: Dialect) => `
select run_id, case state when 'waiting' then claim_group end as claim_group, verdict, owner, epoch, crashes,
  floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  ${previousOwner(s, "x.owner")}, null::uuid as told, null::uuid as doomed, null::boolean as gone
from (select * from swept order by lease_until, run_id) x, t
union all
select null, null, null, null, null, null, null, null, null, null, run_id, null, null from told
union all
select null, null, verdict, null, epoch, crashes, null, null, null, null, null, id, gone from doomed`;

/** A sweep that somebody asked for is no node's. */
export const NOBODY = "null::uuid";

export const sweepExpired = statement(
  "sweep_expired",
  (d) => `
with t as materialized (select ${d.now} as now
), ${orphanParts(d, {
    limit: "$1",
    by: NOBODY,
    condition: inEnv(d, "$2::text"),
    over: (time) => `r.lease_until <= ${time}`,
    isGone: "false",
  })}${RECLAIMED(d)}`,
);

export async function sweep(
  db: Database,
  { env, limit }: { readonly env: string; readonly limit: number },
): Promise<readonly Reclaimed[]> {
  return settleReclaimed(db, await db.run<ReclaimedRow>(sweepExpired, [limit, env]), null);
}

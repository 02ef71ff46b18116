// Reclaims claims whose lease has expired. It changes the state only: the ordinary claim picks the run up again.

import type { Reclaimed } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { inEnv } from "../node/presence-sql.js";
import { EXPIRED, reclaimParts } from "./reclaim-orphans-sql.js";
import { previousOwner, type ReclaimedRow, settleReclaimed } from "./reclaimed.js";

interface Orphans {
  readonly limit: string;
  /** The node that reclaims. */
  readonly by: string;
  readonly condition: string;
  /** Whether a claim is to be reclaimed, at a time. */
  readonly over: (time: string) => string;
  /** Whether the holder is gone, whatever the lease says. */
  readonly isGone: string;
}

/**
 * A whole statement that reclaims, read in this order:
 *   t, here, missing, departing, gone    presence-sql.ts: which nodes are gone (reclaim_runs only)
 *   expired                              here: the claims to reclaim, locked, with the policy of their programs
 *   judged … reclaimed … noted           reclaim-orphans-sql.ts: the outcome for each run, the UPDATE, journal and claims
 *   closed, notified                     end-notices.ts: messages of those that end, and to their parents
 *   SELECT                               RECLAIMED, here: one row per run, per parent to wake, per task to end (reclaimed.ts)
 *
 * The CTEs of `expired` to `notified`, given one `t` with the time. The UPDATE repeats the precondition on rows that it has
 * locked, so that two nodes never act on one list. (Only running rows have a lease. With the state in the predicate, the
 * planner read the whole index of running rows a second time.) The program decides what happens to its run.
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
), ${reclaimParts(d, over("t.now"), by)}`;
}

export const RECLAIMED = ({ schema: s }: Dialect) => `
select run_id, case state when 'waiting' then claim_group end as claim_group, verdict, owner, epoch, crashes,
  floor(extract(epoch from t.now - lease_until) * 1000)::float8 as expired_for_ms,
  ${previousOwner(s, "x.owner")}, null::uuid as notified, null::uuid as ending_task, null::boolean as gone
from (select * from reclaimed order by lease_until, run_id) x, t
union all
select null, null, null, null, null, null, null, null, null, null, run_id, null, null from notified
union all
select null, null, verdict, null, epoch, crashes, null, null, null, null, null, id, gone from ending_tasks`;

/** What an operator asked for is reclaimed by no node. */
export const ON_REQUEST = "null::uuid";

export const reclaimExpired = statement(
  "reclaim_expired",
  "Reclaims every claim of an env whose lease has expired, on request.",
  (d) => `
with t as materialized (select ${d.now} as now
), ${orphanParts(d, {
    limit: "$1",
    by: ON_REQUEST,
    condition: inEnv(d, "$2::text"),
    over: (time) => `r.lease_until <= ${time}`,
    isGone: "false",
  })}${RECLAIMED(d)}`,
);

async function reclaimExpiredRuns(
  db: Database,
  { env, limit }: { readonly env: string; readonly limit: number },
): Promise<readonly Reclaimed[]> {
  return settleReclaimed(db, await db.run<ReclaimedRow>(reclaimExpired, [limit, env]), null);
}

export const expiry = { reclaimExpired: reclaimExpiredRuns };

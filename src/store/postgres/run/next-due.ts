// Finds when the next run of some groups can be claimed: an idle node sleeps until then. Paused queues have none.

import type { ClaimRequest } from "../../contract/claim/claiming.js";
import { pausedGroups, recentFrom } from "../claim/claim-runs.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";

/** The index has the earliest run of each priority at hand; this many priorities of a group are looked at. */
const MOST_PRIORITIES = 20;

export const nextDue = statement("next_due", "Finds out when the next run of some groups is due.", (d) => {
  const { schema: s, now } = d;
  return `
with paused as materialized (${pausedGroups(s)}
)
select ceil(extract(epoch from min(x.at) - ${now}) * 1000)::float8 as in_ms
from unnest((select $1::int[])) as g(id)
cross join lateral (
  with recursive step(priority, at, n) as (
    (select priority, available_at, 1 from ${s}.runs r
     where r.state = 'waiting' and r.claim_group = g.id and r.available_at > ${recentFrom(d, "$2")} order by priority, available_at limit 1)
    union all
    select r.priority, r.available_at, step.n + 1 from step
    cross join lateral (
      select priority, available_at from ${s}.runs r
      where r.state = 'waiting' and r.claim_group = g.id and r.priority > step.priority
        and r.available_at > ${recentFrom(d, "$2")}
      order by r.priority, r.available_at limit 1
    ) r
    where step.n < ${MOST_PRIORITIES}
  )
  select min(at) as at from step
) x
where g.id <> all(array(select id from paused))`;
});

async function next(
  db: Database,
  groupIds: readonly number[],
  options: Pick<ClaimRequest, "recentMs"> = {},
): Promise<number | null> {
  if (groupIds.length === 0) return null;
  const [row] = await db.run<{ in_ms: number | null }>(nextDue, [groupIds, options.recentMs ?? null]);
  return row!.in_ms;
}

export const dueTimes = { nextDue: next };

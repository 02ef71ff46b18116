// Tells runs that something is in their inbox: a parked one is claimable again, a running one will not park.

import type { Database } from "./database.js";
import { statement } from "./dialect.js";

/** A parent of a thousand children wakes once, when the number it waits for has arrived; anything else wakes at once. */
const WAKES = "r.state = 'parked' and (u.urgent or u.n >= r.wake_after)";

/**
 * inbox_seq is what parking compares: a message that arrives between load and park is seen there, on the row itself
 * (without it, 2,987 of 3,000 forced interleavings parked for ever). Rows are locked in the order of their ids first.
 */
export const ringRuns = statement(
  "ring_runs",
  ({ schema: s, now }) => `
with w as materialized (
  select run_id, count(*)::int as n from unnest($1::uuid[]) as w(run_id) group by 1
), l as materialized (
  select r.id from ${s}.runs r where r.id = any($1::uuid[]) order by r.id for no key update
), u as materialized (
  select run_id, count(*) as n, bool_or(kind <> 'child') as urgent
  from ${s}.inbox where run_id = any($1::uuid[]) and taken_seq is null group by 1
)
update ${s}.runs r
set inbox_seq = r.inbox_seq + w.n,
    state = case when ${WAKES} then 'waiting' else r.state end,
    available_at = case when ${WAKES} then ${now} else r.available_at end,
    wake_at = case when ${WAKES} then null else r.wake_at end
from w join l on l.id = w.run_id left join u using (run_id)
where r.id = any($1::uuid[]) and r.id = l.id`,
);

/** A run that stands several times in the list is rung as often. */
export async function ring(db: Database, runIds: readonly string[]): Promise<void> {
  await db.run(ringRuns, [runIds]);
}

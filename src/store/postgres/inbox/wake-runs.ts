// Wakes runs that have new messages: a parked one becomes claimable, a running one will not park.

import { sleep } from "../../../kernel/world.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { int, rowset, uuid } from "../connection/rowset.js";
import { announce, type MovedRow } from "../limit/admit-runs.js";

/** A run, and how many messages it has to be woken for. */
const RUNS = rowset<readonly [runId: string, n: number]>()({ run_id: uuid(([runId]) => runId), n: int(([, n]) => n) });

/** A parent of a thousand children wakes once, when the number it waits for has arrived; anything else wakes at once. */
const WAKES = "r.state = 'parked' and (u.urgent or u.n >= r.wake_after)";

/**
 * inbox_seq is what parking compares: a message that arrives between load and park is seen there, on the row itself
 * (without it, 2,987 of 3,000 forced interleavings parked for ever). Locked rows are skipped.
 */
export const wakeRunsStatement = statement(
  "wake_runs",
  "Wakes runs that have new messages.",
  ({ schema: s, now }) => `
with l as materialized (
  select w.*
  from ${RUNS.from(1).as("w")} join ${s}.runs r on r.id = w.run_id
  order by r.id
  for no key update of r skip locked
)
update ${s}.runs r
set inbox_seq = r.inbox_seq + l.n,
    state = case when ${WAKES} then 'waiting' else r.state end,
    available_at = case when ${WAKES} then ${now} else r.available_at end,
    wake_at = case when ${WAKES} then null else r.wake_at end
from l cross join lateral (
  select count(*) as n, bool_or(kind <> 'child') as urgent
  from ${s}.inbox i where i.run_id = l.run_id and i.taken_seq is null
) u
where r.id = l.run_id
returning r.id, r.claim_group, r.state`,
);

const TRIES = 40;
const AGAIN_MS = 25;

/**
 * A run that is listed several times has as many new messages. One that is locked right now is woken in the background:
 * a commit never waits for another run's row, and wake_parked finds those that were not woken at all.
 */
export async function wakeRuns(db: Database, runIds: readonly string[]): Promise<void> {
  if (runIds.length === 0) return;
  const counts = new Map<string, number>();
  for (const id of runIds) counts.set(id, (counts.get(id) ?? 0) + 1);
  await wakeOnce(db, counts);
  if (counts.size === 0) return;
  db.inBackground(async () => {
    for (let tries = 0; tries < TRIES && counts.size > 0; tries++) {
      await sleep(db.world, AGAIN_MS);
      await wakeOnce(db, counts);
    }
  });
}

/** Leaves in `counts` those that were locked. Those that no longer exist stay there, too, and are given up. */
async function wakeOnce(db: Database, counts: Map<string, number>): Promise<void> {
  const woken = await db.run<MovedRow>(wakeRunsStatement, RUNS.arrays([...counts]));
  for (const { id } of woken) counts.delete(id);
  // A limited run that was parked is in line again: it may be its turn.
  await announce(db, woken);
}

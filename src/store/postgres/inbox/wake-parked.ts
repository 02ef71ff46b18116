// Wakes parked runs whose time has come, or whose inbox has what they wait for. Level-triggered: it also finds messages
// for which no run was woken, and those that arrived in a caller's own transaction.

import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { isStuck, NO_RUNS, stuckParts } from "../connection/stuck-runs.js";
import { ENDED } from "../run/ended-states.js";

/** Runs with unread messages that one call looks at, and messages that it closes. With fewer, each call sees them all. */
export const MAIL_WINDOW = 2000;
const FIRST = "00000000-0000-0000-0000-000000000000";

/**
 * CTEs that end in `awake`, given one `t` with the time.
 *
 * Unread messages are read in windows over the runs that have some, one after the other and round again: the start of the next
 * window is in `meta`, written only while there is more than a window holds and that row is not locked (310,000 unread messages of runs that wait for
 * a worker took 690 ms, every second, on every node). Each run is found by one step down the index: asked for all of a
 * window at once, a planner without statistics sorted all unread messages.
 *
 * Messages that arrived as their run ended are closed here, too: the ending statement's snapshot may be older than a message
 * that was accepted a moment before, and it would be counted as unread for ever. Locked ones are left to the statement that closes
 * or prunes them: two of these statements that waited for one while holding others deadlocked.
 *
 * `is not distinct from` where rows are found by id: with the partial index, `=` read all parked runs.
 */
function wakeParts(d: Dialect, limit: string): string {
  const { schema: s, now } = d;
  return `due as (
  select id from ${s}.runs where state = 'parked' and wake_at <= (select ${now}) order by wake_at, id limit ${limit}
), place as materialized (
  select coalesce((select value from ${s}.meta where key = 'mail_place'), '${FIRST}') as at
), seen as materialized (
  with recursive step(run_id, n) as (
    (select run_id, 1 from ${s}.inbox
     where taken_seq is null and run_id >= (select at::uuid from place) order by run_id limit 1)
    union all
    select i.run_id, step.n + 1 from step
    cross join lateral (
      select run_id from ${s}.inbox i where taken_seq is null and i.run_id > step.run_id order by i.run_id limit 1
    ) i
    where step.n <= ${MAIL_WINDOW}
  )
  select run_id, n from step
), further as materialized (
  select coalesce((select run_id::text from seen where n > ${MAIL_WINDOW}), '${FIRST}') as at
), noted as materialized (
  select key from ${s}.meta where key = 'mail_place' for no key update skip locked
), moved as (
  update ${s}.meta m set value = f.at from noted k, further f, place p where m.key = k.key and f.at <> p.at
), mail as materialized (
  select u.run_id as id, r.state, r.wake_after from (select run_id from seen where n <= ${MAIL_WINDOW}) u
  left join lateral (select state, wake_after from ${s}.runs r where r.id = u.run_id limit 1) r on true
), called as (
  select m.id from mail m
  cross join lateral (
    select count(*) as n, bool_or(kind <> 'child') as urgent
    from ${s}.inbox i where i.run_id = m.id and i.taken_seq is null
  ) u
  where m.state = 'parked' and (u.urgent or u.n >= m.wake_after)
), stray as materialized (
  select i.run_id, i.key from ${s}.inbox i
  where i.run_id = any(array(select id from mail where state is null or state in ${ENDED})) and i.taken_seq is null
  order by i.run_id, i.key limit ${MAIL_WINDOW}
  for no key update skip locked
), tidied as (
  update ${s}.inbox i set taken_seq = 0 from stray x
  where (i.run_id, i.key) = (x.run_id, x.key) and i.run_id = any(array(select run_id from stray)) and i.taken_seq is null
), woken as materialized (
  select r.id, r.wake_at, r.limited from ${s}.runs r
  where r.id = any(array(select id from due union select id from called)) and r.state is not distinct from 'parked'
  order by r.wake_at, r.id
  limit ${limit}
  for no key update skip locked
), ${stuckParts(d, "select id from woken where limited", NO_RUNS)}, awake as (
  update ${s}.runs r
  set state = 'waiting', wake_at = null, available_at = t.now + ${interval("(n.ord - 1) * 0.001")}
  from unnest(array(select id from woken where not ${isStuck("id")} order by wake_at, id)) with ordinality as n(id, ord), t
  where r.id = n.id and r.state is not distinct from 'parked'
  returning r.id, r.claim_group, r.state
)`;
}

export const wakeParked = statement(
  "wake_parked",
  "Wakes parked runs whose time has come or whose inbox has what they wait for.",
  (d) => `
with t as materialized (select ${d.now} as now
), ${wakeParts(d, "$1")}
select id, claim_group, state from awake`,
);

async function wake(db: Database, { limit }: { readonly limit: number }): Promise<number> {
  if (limit < 1) return 0;
  const rows = await db.run<{ claim_group: number; state: string }>(wakeParked, [limit]);
  db.onWork([...new Set(rows.flatMap(({ claim_group, state }) => (state === "waiting" ? claim_group : [])))]);
  return rows.length;
}

export const wakeUps = { wakeParked: wake };

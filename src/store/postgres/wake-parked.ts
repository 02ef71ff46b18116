// Makes parked runs claimable whose time has come, or whose inbox has what they wait for. Level-triggered: it also
// finds the messages whose ring was lost, and those that arrived in a caller's own transaction.

import { checkLimit, refuse } from "../check/value.js";
import type { Database } from "./database.js";
import { type Dialect, statement } from "./dialect.js";
import { ENDED } from "./ended-states.js";
import { interval } from "./instant.js";

/**
 * CTEs that end in `awake`, given one `t` with the time. Messages that met their run's end are closed here, too: the ending statement's snapshot may be older than a message
 * that was accepted a moment before, and it would be counted as unread for ever.
 */
export function wakeParts({ schema: s, now }: Dialect, limit: string): string {
  return `due as (
  select id from ${s}.runs where state = 'parked' and wake_at <= (select ${now}) order by wake_at limit ${limit}
), mail as materialized (
  select u.run_id as id, r.state, u.urgent or u.n >= r.wake_after as called
  from (
    select run_id, count(*) as n, bool_or(kind <> 'child') as urgent
    from ${s}.inbox where taken_seq is null group by 1
  ) u
  left join lateral (select state, wake_after from ${s}.runs r where r.id = u.run_id limit 1) r on true
), tidied as (
  update ${s}.inbox i set taken_seq = 0
  where i.run_id = any(array(select id from mail where state is null or state in ${ENDED})) and i.taken_seq is null
), woken as materialized (
  select r.id, r.wake_at from ${s}.runs r
  where r.id = any(array(select id from due union select id from mail where state = 'parked' and called)) and r.state = 'parked'
  order by r.wake_at, r.id
  limit ${limit}
  for no key update skip locked
), awake as (
  update ${s}.runs r
  set state = 'waiting', wake_at = null, available_at = t.now + ${interval("(n.ord - 1) * 0.001")}
  from unnest(array(select id from woken order by wake_at, id)) with ordinality as n(id, ord), t
  where r.id = n.id and r.state = 'parked'
  returning r.id
)`;
}

export const wakeParked = statement(
  "wake_parked",
  (d) => `
with t as materialized (select ${d.now} as now
), ${wakeParts(d, "$1")}
select id from awake`,
);

export async function wake(db: Database, limit: number): Promise<number> {
  refuse(checkLimit("limit", limit));
  return limit < 1 ? 0 : (await db.run(wakeParked, [limit])).length;
}

// Timers of instances: claimed when they are due, settled when they could not be fired; and events that are sent to an instance,
// which wait among its timers.

import type {
  ClaimedTimers,
  InstanceStatus,
  NewTold,
  TellAnswer,
  TimerClaim,
  TimerRecord,
  TimerSettlement,
} from "../../contract/machine/machines.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval, ms } from "../connection/instant.js";
import { bigint, float8, int, rowset, text, uuid } from "../connection/rowset.js";
import type { Groups } from "../run/groups.js";
import { LOADED, type LoadedRow, loadedOf } from "./instance-row.js";
import { SENT, sentColumns } from "./machine-columns.js";
import { intoSent } from "./machine-sql.js";

/** Columns of an instance have the same names: those of the timer have others where both are read. */
export const TIMER_RECORD = `x.id as timer_id, x.instance as "instanceKey", x.generation::float8, x.kind, x.name as timer_name,
  x.codec as timer_codec, x.data as timer_data, ${ms("x.due_at")} as "dueAt", ${ms("greatest(x.try_at, x.claimed_until)")} as "tryAt",
  x.attempts, x.state, x.problem as timer_problem`;

export interface TimerRow extends Omit<TimerRecord, "id" | "name" | "payload" | "problem"> {
  readonly timer_id: string;
  readonly timer_name: string;
  readonly timer_codec: string;
  readonly timer_data: string;
  readonly timer_problem: string | null;
}

export function timerOf(row: TimerRow): TimerRecord {
  const { instanceKey, generation, kind, dueAt, tryAt, attempts, state, timer_id: id, timer_name: name } = row;
  const payload = { codec: row.timer_codec, data: row.timer_data };
  const problem = row.timer_problem;
  return { id, instanceKey, generation, kind, name, payload, dueAt, tryAt, attempts, state, problem };
}

/**
 * Each group is one range of the index timers_due, as in claim_runs. One row at least: the clock, and when to look again.
 * Taking writes nothing that is indexed (HOT). When it moved `try_at`, each of 200 timers got a new entry in three indexes: with a
 * million pending most on pages of their own, 3.6 ms instead of 2.2 ms.
 * The rows are taken where `picked` has locked them, by their ctid: looked up again by their ids, 1.1 ms more with a million. One that
 * another statement has changed since the statement began is not seen there, and left to the next look, as a locked one is: the change
 * wakes the node.
 * The limit is in a sub-select, as the groups are: known, it made a plan with values look so much cheaper than the prepared one
 * that with a million pending every look was planned again (1.10–1.18 of a round with none behind it, instead of 0.94–1.04).
 * Those that are held come before the rest and are read past: with 1,000 a look takes 1 to 2 ms more. They are few: a node takes
 * what it fires in 1.25 s. `next_ms` asks the first of them, and only when all that is free was taken: of overdue ones there may be a million.
 */
export const claimTimers = statement(
  "claim_timers",
  "Claims timers that are due, and says when to look again.",
  (d) => `
with t as materialized (select ${d.now} as now
), picked as materialized (
  select x.place
  from unnest((select $1::int[])) as g(id)
  cross join lateral (
    select x.ctid as place from ${d.schema}.timers x
    where x.state = 'pending' and x.claim_group = g.id and x.try_at <= (select now from t)
      and (x.claimed_until is null or x.claimed_until <= (select now from t) or x.claimed_by = any($6::uuid[]))
    order by x.try_at
    limit (select $2::int)
    for no key update skip locked
  ) x
), took as (
  update ${d.schema}.timers x
  set attempts = x.attempts + 1, claimed_until = (select now from t) + ${interval("$3::float8")},
      claimed_by = $5::uuid,
      state = case when x.attempts >= $4 then 'dead' else 'pending' end,
      problem = case when x.attempts >= $4 then coalesce(x.problem, 'The node that claimed this timer died before firing it.') else x.problem end
  where x.ctid = any(array(select place from picked))
  returning x.*
)
select ${ms("t.now")} as now,
  case when (select count(*) from picked) >= $2 then 0 else (
    select ceil(extract(epoch from min(n.at) - (select now from t)) * 1000)::float8
    from unnest((select $1::int[])) as g(id)
    cross join lateral (
      (select n.try_at as at from ${d.schema}.timers n
       where n.state = 'pending' and n.claim_group = g.id and n.try_at > (select now from t) order by n.try_at limit 1)
      union all
      (select n.claimed_until from ${d.schema}.timers n
       where n.state = 'pending' and n.claim_group = g.id and n.try_at <= (select now from t)
         and n.claimed_until > (select now from t)
       order by n.try_at limit (select $2::int))
    ) n) end as next_ms,
  x.*
from t left join lateral (
  select ${TIMER_RECORD}, x.due_at as due, i.* from took x
  left join lateral (
    select ${LOADED} from ${d.schema}.instances i join ${d.schema}.claim_groups g on g.id = i.claim_group
    where i.key = x.instance limit 1
  ) i on true
) x on true
order by x.due, x.timer_id`,
);

type ClaimedRow = { now: number; next_ms: number | null } & (
  | ({ timer_id: string } & TimerRow & (LoadedRow | { key: null }))
  | { timer_id: null }
);

export async function claimDue(db: Database, groups: Groups, claim: TimerClaim): Promise<ClaimedTimers> {
  const { limit, leaseMs, mostAttempts, owner = null, gone = [] } = claim;
  const values = async () => [await groups.ids(claim.groups), limit, leaseMs, mostAttempts, owner, gone];
  const rows = await db.run<ClaimedRow>(claimTimers, values);
  const { now, next_ms } = rows[0]!;
  const taken = rows.filter((row) => row.timer_id !== null);
  const instances = taken.flatMap((row) => (row.key === null ? [] : [loadedOf(row as LoadedRow)]));
  const once = new Map(instances.map((one) => [one.key, one]));
  return { now, nextMs: next_ms, timers: taken.map(timerOf), instances: [...once.values()] };
}

export const SETTLEMENTS = rowset<TimerSettlement>()({
  id: uuid(({ id }) => id),
  generation: bigint(({ generation }) => generation),
  attempts: int(({ attempts }) => attempts),
  how: text(({ as }) => as),
  delay_ms: float8(({ delayMs }) => delayMs),
  problem: text(({ problem }) => problem),
});

/** A timer that is being changed is skipped: the change is newer, and the lease expires. */
export const settleTimers = statement(
  "settle_timers",
  "Releases timers that could not be fired: for later, as dead, or removed.",
  ({ schema: s, now }) => `
with w as materialized (
  select w.* from ${SETTLEMENTS.from(1).as("w")}
  join ${s}.timers x on x.id = w.id and x.generation = w.generation and x.attempts = w.attempts
  for no key update of x skip locked
), kept as (
  update ${s}.timers x
  set try_at = ${now} + ${interval("w.delay_ms")}, claimed_until = null,
      problem = coalesce(w.problem, case w.how when 'untried' then x.problem end),
      state = case w.how when 'dead' then 'dead' else 'pending' end,
      attempts = case w.how when 'keep' then 0 when 'untried' then greatest(x.attempts - 1, 0) else x.attempts end
  from w where x.id = w.id and x.generation = w.generation and x.attempts = w.attempts and w.how <> 'drop'
  returning x.id
), dropped as (
  delete from ${s}.timers x using w
  where x.id = w.id and x.generation = w.generation and x.attempts = w.attempts and w.how = 'drop'
  returning x.id
)
select (select count(*) from kept)::int + (select count(*) from dropped)::int as n`,
);

export async function settle(db: Database, settlements: readonly TimerSettlement[]): Promise<number> {
  const [row] = await db.run<{ n: number }>(settleTimers, SETTLEMENTS.arrays(settlements));
  return row!.n;
}

/** Sent again it changes nothing: it is still waiting, or its key is in the log. */
export const sendToInstances = statement("send_to_instances", "Sends events to instances, each id once.", (d) => {
  const { schema: s, now } = d;
  const status = (of: string) => `(select i.status from ${s}.instances i where i.key = ${of}.instance limit 1)`;
  const taken = (of: string) =>
    `(select e.seq from ${s}.instance_events e where e.instance = ${of}.instance and e.key = ${of}.id::text limit 1)`;
  return `
with t as materialized (select ${now} as now
), sent as (${intoSent(d, SENT.from(1), `${status("x")} = 'active' and ${taken("x")} is null`, false)}
)
select ${status("w")} as status, ${taken("w")} is not null as taken
from ${SENT.from(1).as("w", "n")}
order by w.n`;
});

export async function tell(
  db: Database,
  groups: Groups,
  told: readonly NewTold[],
  tx?: Transaction,
): Promise<readonly TellAnswer[]> {
  const values = () =>
    sentColumns(
      groups,
      told.map((part, i) => ({ ord: i + 1, part })),
    );
  const rows = await db.run<{ status: InstanceStatus | null; taken: boolean }>(sendToInstances, values, { tx });
  return rows.map(({ status, taken }) => {
    if (status === null) return { outcome: "unknown" };
    return status === "active" || taken ? { outcome: "accepted" } : { outcome: "ended", status };
  });
}

// Views over named leases and over the timers of instances.

import type { LeaseRecord } from "../../contract/lease/leases.js";
import type { TimerKind } from "../../contract/machine/machines.js";
import type { TimerView, ViewPage, ViewRequest } from "../../contract/view/views.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";

export const listLeases = statement(
  "list_leases",
  "Lists named leases by key.",
  ({ schema: s, now }) => `
with t as materialized (select ${now} as now)
select l.env, l.key, l.owner, l.epoch, l.attempt, l.detail,
  case when l.state = 'claimed' and l.lease_until <= (select now from t) then 'expired' else l.state end as state,
  ${ms("l.lease_until")} as lease_until, ${ms("l.acquired_at")} as acquired_at, ${ms("l.finished_at")} as finished_at
from ${s}.leases l
where l.env = $1 and l.key > $2 and l.key >= $3 and starts_with(l.key, $3) order by l.key limit $4`,
);

interface LeaseRow extends Pick<LeaseRecord, "env" | "key" | "owner" | "attempt" | "state" | "detail"> {
  epoch: string;
  lease_until: number;
  acquired_at: number;
  finished_at: number | null;
}

type LeaseRequest = ViewRequest & { readonly prefix?: string };

export async function leases(
  db: Database,
  { env, limit, after = "", prefix = "" }: LeaseRequest,
): Promise<ViewPage<Omit<LeaseRecord, "token">>> {
  const found = await db.run<LeaseRow>(listLeases, [env, after, prefix, limit + 1]);
  const rows = found.slice(0, limit).map(({ epoch, lease_until, acquired_at, finished_at, ...row }) => {
    const times = { leaseUntil: lease_until, acquiredAt: acquired_at, finishedAt: finished_at };
    return { ...row, epoch: Number(epoch), ...times };
  });
  return { rows, next: found.length > limit ? rows.at(-1)!.key : null };
}

/** Each group is one range of its index, as in claim_timers. The state is a literal: a parameter would not match the index. */
const timersIn =
  (state: "pending" | "dead") =>
  ({ schema: s }: Dialect) =>
    `
select x.id, x.instance, x.generation, x.kind, x.name, ${ms("x.due_at")} as due_at,
  ${ms("greatest(x.try_at, x.claimed_until)")} as look_at, (extract(epoch from x.try_at) * 1000000)::bigint as try_us,
  x.attempts, x.state, x.problem, g.program, i.id as instance_id
from ${s}.claim_groups g
cross join lateral (
  select x.* from ${s}.timers x
  where x.claim_group = g.id and x.state = '${state}' and ($2::bigint is null
    or (x.try_at, x.id) > (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid))
  order by x.try_at, x.id limit $4
) x
cross join lateral (select i.id from ${s}.instances i where i.key = x.instance limit 1) i
where g.env = $1 order by x.try_at, x.id limit $4`;

export const listPendingTimers = statement(
  "list_pending_timers",
  "Lists pending timers by their next attempt.",
  timersIn("pending"),
);
export const listDeadTimers = statement("list_dead_timers", "Lists dead timers.", timersIn("dead"));

interface TimerRow {
  id: string;
  instance: string;
  generation: string;
  kind: TimerKind;
  name: string;
  due_at: number;
  look_at: number;
  try_us: string;
  attempts: number;
  state: "pending" | "dead";
  problem: string | null;
  program: string;
  instance_id: string;
}

type TimerRequest = ViewRequest & { readonly state: "pending" | "dead" };

export async function timers(db: Database, request: TimerRequest): Promise<ViewPage<TimerView>> {
  const { env, limit, after, state } = request;
  const [at = null, id = null] = after?.split("/") ?? [];
  const statement = state === "dead" ? listDeadTimers : listPendingTimers;
  const found = await db.run<TimerRow>(statement, [env, at, id, limit + 1]);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    rows: shown.map(viewOf),
    next: found.length > limit && last ? `${last.try_us}/${last.id}` : null,
  };
}

function viewOf(row: TimerRow): TimerView {
  const { id, kind, name, attempts, state, problem } = row;
  return {
    id,
    instanceKey: row.instance,
    generation: Number(row.generation),
    kind,
    name,
    dueAt: row.due_at,
    tryAt: row.look_at,
    attempts,
    state,
    problem,
    machine: row.program,
    instance: row.instance_id,
  };
}

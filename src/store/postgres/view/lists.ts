// Views over named leases and over the timers of instances.

import type { LeaseRecord } from "../../contract/lease/leases.js";
import type { TimerKind } from "../../contract/machine/machines.js";
import type { TimerView, ViewPage, ViewRequest } from "../../contract/view/views.js";
import type { Database } from "../connection/database.js";
import { query } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { microseconds, placeOf } from "./place.js";

type LeaseRequest = ViewRequest & { readonly prefix?: string };

export const listLeases = query<LeaseRequest>({
  name: "list_leases",
  purpose: "Lists named leases by key.",
  text: ({ schema: s, now }, { env, limit, after = "", prefix = "" }) => ({
    text: `
with t as materialized (select ${now} as now)
select l.env, l.key, l.owner, l.epoch, l.attempt, l.detail,
  case when l.state = 'claimed' and l.lease_until <= (select now from t) then 'expired' else l.state end as state,
  ${ms("l.lease_until")} as lease_until, ${ms("l.acquired_at")} as acquired_at, ${ms("l.finished_at")} as finished_at
from ${s}.leases l
where l.env = $1 and l.key > $2 and l.key >= $3 and starts_with(l.key, $3) order by l.env, l.key limit $4`,
    values: [env, after, prefix, limit + 1],
  }),
  samples: { "with a prefix": { env: "e", limit: 10, prefix: "p" } },
});

interface LeaseRow extends Pick<LeaseRecord, "env" | "key" | "owner" | "attempt" | "state" | "detail"> {
  epoch: string;
  lease_until: number;
  acquired_at: number;
  finished_at: number | null;
}

export async function leases(db: Database, request: LeaseRequest): Promise<ViewPage<Omit<LeaseRecord, "token">>> {
  const { limit } = request;
  const found = await db.runInOrder<LeaseRow, LeaseRequest>(listLeases, request);
  const rows = found.slice(0, limit).map(({ epoch, lease_until, acquired_at, finished_at, ...row }) => {
    const times = { leaseUntil: lease_until, acquiredAt: acquired_at, finishedAt: finished_at };
    return { ...row, epoch: Number(epoch), ...times };
  });
  return { rows, next: found.length > limit ? rows.at(-1)!.key : null };
}

type TimerRequest = ViewRequest & { readonly state: "pending" | "dead" };

const TIMER_PLACE = "1/00000000-0000-7000-8000-000000000000";

/** Each group is one range of its index, as in claim_timers. The state is a literal: a parameter would not match the index. */
export const listTimers = query<TimerRequest>({
  name: "list_timers",
  purpose: "Lists timers by their next attempt.",
  text({ schema: s }, { env, limit, after, state }) {
    const values: unknown[] = [env, limit + 1];
    const behind = `and (x.try_at, x.id) > (${microseconds("$3")}, $4::uuid)`;
    if (after !== undefined) values.push(...placeOf(after, 2));
    const text = `
select x.id, x.instance, x.generation, x.kind, x.name, ${ms("x.due_at")} as due_at,
  ${ms("greatest(x.try_at, x.claimed_until)")} as look_at, (extract(epoch from x.try_at) * 1000000)::bigint as try_us,
  x.attempts, x.state, x.problem, g.program, x.instance_id
from ${s}.claim_groups g
cross join lateral (
  select x.*, i.id as instance_id from ${s}.timers x
  cross join lateral (select i.id from ${s}.instances i where i.key = x.instance limit 1) i
  where x.claim_group = g.id and x.state = '${state === "dead" ? "dead" : "pending"}' ${after === undefined ? "" : behind}
  order by x.claim_group, x.try_at, x.id limit $2
) x
where g.env = $1 order by x.try_at, x.id limit $2`;
    return { text, values };
  },
  samples: {
    pending: { env: "e", limit: 10, state: "pending" },
    "dead, the next page": { env: "e", limit: 10, state: "dead", after: TIMER_PLACE },
  },
});

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

export async function timers(db: Database, request: TimerRequest): Promise<ViewPage<TimerView>> {
  const { limit } = request;
  const found = await db.runInOrder<TimerRow, TimerRequest>(listTimers, request);
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

// Schedules, cancels and finds timeouts. Claims on them are in claim-timeouts.ts.

import type { NewTimeout, TimeoutRecord, TimeoutTable } from "../../contract/timeout/timeouts.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { instant, interval } from "../connection/instant.js";
import { claim, complete, completeIn, release, timeoutColumns } from "./claim-timeouts.js";
import type { TimeoutWakes } from "./timeout-wakes.js";

const KEY = "o.env = $1 and o.scope = $2 and o.instance = $3";

/** An existing timeout stays if this very call wrote it, or, with `keep`, if it is for the same state and sequence. */
const scheduleTimeout = statement(
  "schedule_timeout",
  "Schedules the timeout of an instance.",
  ({ schema: s, now }) => `
with t as materialized (select ${now} as now
), written as (
  insert into ${s}.timeouts as o (env, scope, instance, generation, state, sequence, deadline, due_at, created_at, attempts)
  select $1, $2, $3, $4::uuid, $5, $6::bigint, d.at, d.at, t.now, 0
  from t cross join lateral (select coalesce(${instant("$7::float8")}, t.now + ${interval("$8::float8")}) as at) d
  on conflict (env, scope, instance) do update
  set generation = excluded.generation, state = excluded.state, sequence = excluded.sequence, deadline = excluded.deadline,
      due_at = excluded.due_at, created_at = excluded.created_at, attempts = 0,
      claimed_by = null, claimed_until = null, token = null, released_token = null, problem = null
  where o.generation <> excluded.generation
    and not ($9::boolean and o.state = excluded.state and o.sequence = excluded.sequence)
  returning o.*
)
select ${timeoutColumns("o")} from written o
union all
select ${timeoutColumns("o")} from ${s}.timeouts o where ${KEY} and not exists (select from written)`,
);

const cancelTimeout = statement(
  "cancel_timeout",
  "Cancels the timeout of an instance.",
  ({ schema: s }) => `delete from ${s}.timeouts o where ${KEY} returning o.instance`,
);

const getTimeout = statement(
  "get_timeout",
  "Reads the timeout of an instance.",
  ({ schema: s }) => `select ${timeoutColumns("o")} from ${s}.timeouts o where ${KEY}`,
);

/** Returns at least one row: it says when to look again. */
export const expiredTimeouts = statement(
  "expired_timeouts",
  "Reads timeouts that are due, and says when to look again.",
  ({ schema: s, now }) => `
with t as materialized (select ${now} as now)
select x.*,
  (select ceil(extract(epoch from n.due_at - (select now from t)) * 1000)::float8 from ${s}.timeouts n
   where n.env = $1 and n.scope = $2 and n.due_at > (select now from t) order by n.due_at limit 1) as next_ms
from t left join lateral (
  select ${timeoutColumns("o")}, o.due_at from ${s}.timeouts o
  where o.env = $1 and o.scope = $2 and o.due_at <= (select now from t)
  order by o.due_at, o.instance limit $3
) x on true
order by x.due_at, x.instance`,
);

export const deadTimeouts = statement(
  "dead_timeouts",
  "Lists timeouts that were given up.",
  ({ schema: s }) => `
select ${timeoutColumns("o")} from ${s}.timeouts o
where o.env = $1 and o.scope = $2 and o.due_at is null and o.instance > $3 order by o.instance limit $4`,
);

const retryTimeout = statement(
  "retry_timeout",
  "Makes a dead timeout due again.",
  ({ schema: s, now }) => `
update ${s}.timeouts o set due_at = ${now}, attempts = 0, problem = null, released_token = null
where ${KEY} and o.due_at is null returning o.instance`,
);

export function timeoutTable(db: Database, wakes: TimeoutWakes): TimeoutTable {
  return {
    async schedule(timeout, { tx } = {}) {
      const record = await schedule(db, timeout, tx);
      await wakes.wake(record, record.deadline - record.createdAt, tx);
      return record;
    },
    async cancel(key, { tx } = {}) {
      return (await db.run(cancelTimeout, valuesOf(key), { tx })).length > 0;
    },
    async get(key) {
      const [timeout] = await db.run<TimeoutRecord>(getTimeout, valuesOf(key));
      return timeout ?? null;
    },
    async expired(of, limit) {
      const values = [of.env, of.scope, Math.max(limit, 0)];
      const rows = await db.run<TimeoutRecord & { next_ms: number | null; due_at: unknown }>(expiredTimeouts, values);
      const found = rows.filter(({ generation }) => generation !== null);
      return { timeouts: found.map(({ next_ms, due_at, ...timeout }) => timeout), nextMs: rows[0]!.next_ms };
    },
    claim: (requests) => claim(db, requests),
    complete: (fences, { tx } = {}) => (tx ? completeIn(db, fences, tx) : complete(db, fences)),
    release: (releases) => release(db, releases),
    dead: (of, { limit, after = "" }) =>
      db.run<TimeoutRecord>(deadTimeouts, [of.env, of.scope, after, Math.max(limit, 0)]),
    async retry(key) {
      const retried = (await db.run(retryTimeout, valuesOf(key))).length > 0;
      if (retried) await wakes.wake(key, 0);
      return retried;
    },
    onScheduled: (of, listener) => wakes.listen(of, listener),
  };
}

async function schedule(db: Database, timeout: NewTimeout, tx: Transaction | undefined): Promise<TimeoutRecord> {
  const { generation, state, sequence, deadline, keep } = timeout;
  const when = "at" in deadline ? [deadline.at, null] : [null, deadline.inMs];
  const values = [...valuesOf(timeout), generation, state, sequence, ...when, keep];
  for (;;) {
    const [record] = await db.run<TimeoutRecord>(scheduleTimeout, values, { tx });
    if (record) return record;
    // The timeout that it met was removed, or was inserted, after the statement began: try again.
  }
}

function valuesOf({ env, scope, instance }: { env: string; scope: string; instance: string }): string[] {
  return [env, scope, instance];
}

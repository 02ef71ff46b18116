// Timeouts: scheduled, cancelled and looked for. Claims on them stand in claim-timeouts.ts.

import { inBatches } from "../../../kernel/chunk.js";
import { checkNewTimeout, checkTimeoutKey, checkTimeoutScope } from "../../check/timeout/timeout.js";
import { checkLimit, refuse } from "../../check/value.js";
import type {
  NewTimeout,
  TimeoutClaimAnswer,
  TimeoutClaimRequest,
  TimeoutFence,
  TimeoutRecord,
  TimeoutRelease,
  TimeoutTable,
} from "../../contract/timeout/timeouts.js";
import type { Transaction } from "../../contract/transaction.js";
import { callLane } from "../connection/call-lane.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { instant, interval } from "../connection/instant.js";
import { claim, complete, completeIn, release } from "./claim-timeouts.js";
import type { TimeoutHints } from "./timeout-hints.js";
import { recordOf, type TimeoutRow, timeoutColumns } from "./timeout-row.js";

const KEY = "o.env = $1 and o.scope = $2 and o.instance = $3";

/** What stands there stays when it came from this very call, or, if that is wished, when it is for the same state and sequence. */
const scheduleTimeout = statement(
  "schedule_timeout",
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
  ({ schema: s }) => `delete from ${s}.timeouts o where ${KEY} returning o.instance`,
);

const getTimeout = statement(
  "get_timeout",
  ({ schema: s }) => `select ${timeoutColumns("o")} from ${s}.timeouts o where ${KEY}`,
);

/** One row at least: when to look again. */
export const expiredTimeouts = statement(
  "expired_timeouts",
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
  ({ schema: s }) => `
select ${timeoutColumns("o")} from ${s}.timeouts o
where o.env = $1 and o.scope = $2 and o.due_at is null and o.instance > $3 order by o.instance limit $4`,
);

const retryTimeout = statement(
  "retry_timeout",
  ({ schema: s, now }) => `
update ${s}.timeouts o set due_at = ${now}, attempts = 0, problem = null, released_token = null
where ${KEY} and o.due_at is null returning o.instance`,
);

/** More rows in one statement gain nothing and hold their locks longer. */
const LIMITS = { maxRows: 500, maxBytes: 4 * 1024 * 1024, sizeOf: () => ({ rows: 1, bytes: 100 }) };

export function timeoutTable(db: Database, hints: TimeoutHints): TimeoutTable {
  const lane = <Item, Answer>(send: (db: Database, items: readonly Item[]) => Promise<readonly Answer[]>) =>
    callLane<Item, Answer>((items) => inBatches(items, LIMITS, (batch) => send(db, batch)), {
      ...LIMITS,
      world: db.world,
    });
  // A sweeper asks for one after the other, many at a time: what comes together leaves together.
  const claims = lane<TimeoutClaimRequest, TimeoutClaimAnswer>(claim);
  const completions = lane<TimeoutFence, boolean>(complete);
  const releases = lane<TimeoutRelease, boolean>(release);
  return {
    async schedule(timeout, { tx } = {}) {
      const record = await schedule(db, timeout, tx);
      await hints.tell(record, record.deadline - record.createdAt, tx);
      return record;
    },
    async cancel(key, { tx } = {}) {
      refuse(checkTimeoutKey(key));
      return (await db.run(cancelTimeout, valuesOf(key), { tx })).length > 0;
    },
    async get(key) {
      refuse(checkTimeoutKey(key));
      const [row] = await db.run<TimeoutRow>(getTimeout, valuesOf(key));
      return row ? recordOf(row) : null;
    },
    async expired(of, limit) {
      refuse(checkTimeoutScope(of) ?? checkLimit("limit", limit));
      const rows = await db.run<TimeoutRow & { next_ms: number | null }>(expiredTimeouts, [
        of.env,
        of.scope,
        Math.max(limit, 0),
      ]);
      const timeouts = rows.filter(({ generation }) => generation !== null).map(recordOf);
      return { timeouts, nextMs: rows[0]!.next_ms };
    },
    claim: claims,
    complete: (fences, { tx } = {}) => (tx ? completeIn(db, fences, tx) : completions(fences)),
    release: releases,
    async dead(of, { limit, after = "" }) {
      refuse(checkTimeoutScope(of) ?? checkLimit("limit", limit));
      return (await db.run<TimeoutRow>(deadTimeouts, [of.env, of.scope, after, Math.max(limit, 0)])).map(recordOf);
    },
    async retry(key) {
      refuse(checkTimeoutKey(key));
      const retried = (await db.run(retryTimeout, valuesOf(key))).length > 0;
      if (retried) await hints.tell(key, 0);
      return retried;
    },
    onScheduled: (of, listener) => hints.listen(of, listener),
  };
}

async function schedule(db: Database, timeout: NewTimeout, tx: Transaction | undefined): Promise<TimeoutRecord> {
  refuse(checkNewTimeout(timeout));
  const { generation, state, sequence, deadline, keep } = timeout;
  const when = "at" in deadline ? [deadline.at, null] : [null, deadline.inMs];
  const values = [...valuesOf(timeout), generation, state, sequence, ...when, keep];
  for (;;) {
    const [row] = await db.run<TimeoutRow>(scheduleTimeout, values, { tx });
    if (row) return recordOf(row);
    // It was kept for one that was removed, or came, since the statement began: look again.
  }
}

function valuesOf({ env, scope, instance }: { env: string; scope: string; instance: string }): string[] {
  return [env, scope, instance];
}

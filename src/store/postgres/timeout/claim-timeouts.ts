// Claims on timeouts: taken, completed and released by generation and token, many at a time.
//
// Rows that somebody is writing to are skipped, never waited for: an instance that moves on in a transaction of its own holds its
// timeout's row until it commits, and nobody else's timeout may wait for that.

import type {
  TimeoutClaimAnswer,
  TimeoutClaimRequest,
  TimeoutFence,
  TimeoutRelease,
} from "../../contract/timeout/timeouts.js";
import type { Transaction } from "../../contract/transaction.js";
import { unnest } from "../connection/batch.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { recordOf, type TimeoutRow, timeoutColumns } from "./timeout-row.js";

/** Each asked generation whose row is free and fits, locked. */
const locked = ({ schema: s }: Dialect, columns: string, fits: string) => `
  select a.* from ${columns}
  cross join lateral (
    select o.generation from ${s}.timeouts o where o.generation = a.generation and ${fits}
    limit 1 for update skip locked
  ) o`;

/**
 * While claimed, it is due again when the claim is over: that is all that keeps others away. `is true`: planned while the table
 * was empty, the bare comparison made every claim read all that was due.
 */
export const claimTimeouts = statement(
  "claim_timeouts",
  (d) => `
with t as materialized (select ${d.now} as now
), free as materialized (${locked(d, `${unnest(1, ["uuid", "uuid", "text", "float8"])} as a(generation, token, node, claim_ms)`, "o.due_at <= (select now from t)")}
)
update ${d.schema}.timeouts o
set token = f.token, claimed_by = f.node, claimed_until = t.now + ${interval("f.claim_ms")},
    due_at = t.now + ${interval("f.claim_ms")}, attempts = o.attempts + 1, released_token = null
from free f, t
where o.generation = f.generation and (o.due_at <= t.now) is true
returning ${timeoutColumns("o")}`,
);

/** What stands there instead of what was asked for. */
const refusedTimeouts = statement(
  "refused_timeouts",
  ({ schema: s, now }) => `
select ${timeoutColumns("o")}, o.token, coalesce(o.due_at > ${now}, true) as later
from unnest($1::text[], $2::text[], $3::text[]) as a(env, scope, instance)
cross join lateral (
  select * from ${s}.timeouts o where o.env = a.env and o.scope = a.scope and o.instance = a.instance limit 1
) o`,
);

export const completeTimeouts = statement(
  "complete_timeouts",
  (d) => `
with mine as materialized (${locked(d, `${unnest(1, ["uuid", "uuid"])} as a(generation, token)`, "o.token = a.token")}
)
delete from ${d.schema}.timeouts o using mine m
where o.generation = m.generation and o.token = m.token
returning o.generation, o.token`,
);

/** In the caller's transaction: waits for whoever writes to it. */
const completeTimeoutIn = statement(
  "complete_timeout_in",
  ({ schema: s }) => `delete from ${s}.timeouts where generation = $1 and token = $2 returning generation`,
);

/** Not tried: due as before, not counted. Failed: due later, behind all that is due now, or given up. */
export const releaseTimeouts = statement(
  "release_timeouts",
  (d) => `
with t as materialized (select ${d.now} as now
), mine as materialized (${locked(d, `${unnest(1, ["uuid", "uuid", "float8", "boolean", "text"])} as a(generation, token, retry_ms, dead, problem)`, "o.token = a.token")}
), released as (
  update ${d.schema}.timeouts o
  set token = null, claimed_by = null, claimed_until = null, released_token = m.token,
      due_at = case when not m.dead then coalesce(t.now + ${interval("m.retry_ms")}, o.deadline) end,
      attempts = o.attempts - case when m.retry_ms is null and not m.dead then 1 else 0 end,
      problem = coalesce(m.problem, o.problem)
  from mine m, t
  where o.generation = m.generation and o.token = m.token
  returning o.generation, m.token
)
select generation, token from released
union all
select o.generation, a.token from ${unnest(1, ["uuid", "uuid"])} as a(generation, token)
cross join lateral (
  select o.generation from ${d.schema}.timeouts o where o.generation = a.generation and o.released_token = a.token limit 1
) o`,
);

interface RefusedRow extends TimeoutRow {
  token: string | null;
  later: boolean;
}

export async function claim(
  db: Database,
  requests: readonly TimeoutClaimRequest[],
): Promise<readonly TimeoutClaimAnswer[]> {
  // Of several that came together for one timeout the first is tried; the others are told what stands there after it.
  const first = firstOfEach(requests, ({ generation }) => generation);
  const each = <T>(value: (request: TimeoutClaimRequest) => T) => first.map(value);
  const rows = await db.run<TimeoutRow>(claimTimeouts, [
    each(({ generation }) => generation),
    each(({ token }) => token),
    each(({ node }) => node),
    each(({ claimMs }) => claimMs),
  ]);
  const taken = new Map(rows.map((row) => [row.generation, recordOf(row)]));
  const answers = new Map<TimeoutClaimRequest, TimeoutClaimAnswer>();
  for (const request of first) {
    const timeout = taken.get(request.generation);
    if (timeout) answers.set(request, { outcome: "claimed", timeout });
  }
  const refused = requests.filter((request) => !answers.has(request));
  const found = refused.length > 0 ? await standing(db, refused) : new Map<string, RefusedRow>();
  return requests.map((request) => answers.get(request) ?? refusal(request, found.get(nameOf(request))));
}

async function standing(db: Database, refused: readonly TimeoutClaimRequest[]): Promise<Map<string, RefusedRow>> {
  const rows = await db.run<RefusedRow>(refusedTimeouts, [
    refused.map(({ env }) => env),
    refused.map(({ scope }) => scope),
    refused.map(({ instance }) => instance),
  ]);
  return new Map(rows.map((row) => [nameOf(row), row]));
}

function refusal({ generation, token }: TimeoutClaimRequest, row: RefusedRow | undefined): TimeoutClaimAnswer {
  if (!row) return { outcome: "notFound" };
  if (row.generation !== generation) return { outcome: "stateChanged" };
  // The reply to this very call was lost.
  if (row.token === token) return { outcome: "claimed", timeout: recordOf(row) };
  // Free by now: whoever was writing to it is done. The next look finds it.
  if (!row.later) return { outcome: "alreadyClaimed", by: null, until: null };
  if (row.token === null) return { outcome: "stateChanged" };
  return { outcome: "alreadyClaimed", by: row.claimed_by, until: row.claimed_until };
}

export async function complete(db: Database, fences: readonly TimeoutFence[]): Promise<readonly boolean[]> {
  const known = firstOfEach(fences, fenceName);
  const rows = await db.run<TimeoutFence>(completeTimeouts, [
    known.map(({ generation }) => generation),
    known.map(({ token }) => token),
  ]);
  const removed = new Set(rows.map(fenceName));
  const tried = new Set(known);
  return fences.map((fence) => tried.has(fence) && removed.has(fenceName(fence)));
}

export async function completeIn(
  db: Database,
  fences: readonly TimeoutFence[],
  tx: Transaction,
): Promise<readonly boolean[]> {
  const answers: boolean[] = [];
  for (const fence of fences) {
    const rows = await db.run(completeTimeoutIn, [fence.generation, fence.token], { tx });
    answers.push(rows.length > 0);
  }
  return answers;
}

export async function release(db: Database, releases: readonly TimeoutRelease[]): Promise<readonly boolean[]> {
  const known = firstOfEach(releases, fenceName);
  const rows = await db.run<TimeoutFence>(releaseTimeouts, [
    known.map(({ generation }) => generation),
    known.map(({ token }) => token),
    known.map(({ retryInMs }) => (retryInMs === "never" ? null : retryInMs)),
    known.map(({ retryInMs }) => retryInMs === "never"),
    known.map(({ problem }) => problem),
  ]);
  const released = new Set(rows.map(fenceName));
  return releases.map((one) => released.has(fenceName(one)));
}

function firstOfEach<Item>(items: readonly Item[], name: (item: Item) => string): Item[] {
  return [...new Map(items.toReversed().map((item) => [name(item), item])).values()].reverse();
}

function fenceName({ generation, token }: TimeoutFence): string {
  return `${generation} ${token}`;
}

function nameOf({ env, scope, instance }: { env: string; scope: string; instance: string }): string {
  return JSON.stringify([env, scope, instance]);
}

// Claims timeouts, and completes and releases claims by generation and token, in batches.
//
// Rows that another transaction is writing to are skipped, never waited for: a user's transaction that moves an instance holds
// the row of its timeout until it commits, and no other timeout may wait for that.

import type {
  TimeoutClaimAnswer,
  TimeoutClaimRequest,
  TimeoutFence,
  TimeoutRecord,
  TimeoutRelease,
} from "../../contract/timeout/timeouts.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval, ms } from "../connection/instant.js";
import { bool, type Columns, float8, rowset, text, uuid } from "../connection/rowset.js";

/** Named as the contract names the fields of a record. */
export const timeoutColumns = (o: string) =>
  `${o}.env, ${o}.scope, ${o}.instance, ${o}.generation, ${o}.state, ${o}.sequence::float8,
  ${ms(`${o}.deadline`)} as deadline, ${ms(`${o}.created_at`)} as "createdAt", ${o}.attempts, ${o}.claimed_by as "claimedBy",
  ${ms(`${o}.claimed_until`)} as "claimedUntil", ${o}.due_at is null as dead, ${o}.problem`;

const FENCE = {
  generation: uuid(({ generation }) => generation),
  token: uuid(({ token }) => token),
} satisfies Columns<TimeoutFence>;
const FENCES = rowset<TimeoutFence>()(FENCE);
const CLAIMS = rowset<TimeoutClaimRequest>()({
  ...FENCE,
  node: text(({ node }) => node),
  claim_ms: float8(({ claimMs }) => claimMs),
});
const NAMES = rowset<TimeoutClaimRequest>()({
  env: text(({ env }) => env),
  scope: text(({ scope }) => scope),
  instance: text(({ instance }) => instance),
});
const RELEASES = rowset<TimeoutRelease>()({
  ...FENCE,
  retry_ms: float8(({ retryInMs }) => (retryInMs === "never" ? null : retryInMs)),
  dead: bool(({ retryInMs }) => retryInMs === "never"),
  problem: text(({ problem }) => problem),
});

/** The requested generations whose rows are free and match, locked. */
const locked = ({ schema: s }: Dialect, columns: string, fits: string) => `
  select a.* from ${columns}
  cross join lateral (
    select o.generation from ${s}.timeouts o where o.generation = a.generation and ${fits}
    limit 1 for update skip locked
  ) o`;

/**
 * While claimed, a timeout is due again when the claim expires: nothing else keeps other nodes away. `is true`: with the bare
 * comparison, a plan made while the table was empty read everything that was due for every claim.
 */
export const claimTimeouts = statement(
  "claim_timeouts",
  "Claims timeouts that are due.",
  (d) => `
with t as materialized (select ${d.now} as now
), free as materialized (${locked(d, CLAIMS.from(1).as("a"), "o.due_at <= (select now from t)")}
)
update ${d.schema}.timeouts o
set token = f.token, claimed_by = f.node, claimed_until = t.now + ${interval("f.claim_ms")},
    due_at = t.now + ${interval("f.claim_ms")}, attempts = o.attempts + 1, released_token = null
from free f, t
where o.generation = f.generation and (o.due_at <= t.now) is true
returning ${timeoutColumns("o")}`,
);

/** The current rows of the timeouts that could not be claimed. */
const refusedTimeouts = statement(
  "refused_timeouts",
  "Reads the timeouts that could not be claimed.",
  ({ schema: s, now }) => `
select ${timeoutColumns("o")}, o.token, coalesce(o.due_at > ${now}, true) as later
from ${NAMES.from(1).as("a")}
cross join lateral (
  select * from ${s}.timeouts o where o.env = a.env and o.scope = a.scope and o.instance = a.instance limit 1
) o`,
);

export const completeTimeouts = statement(
  "complete_timeouts",
  "Removes timeouts that were handled.",
  (d) => `
with mine as materialized (${locked(d, FENCES.from(1).as("a"), "o.token = a.token")}
)
delete from ${d.schema}.timeouts o using mine m
where o.generation = m.generation and o.token = m.token
returning o.generation, o.token`,
);

/** In the caller's transaction: waits for another transaction that is writing to the row. */
const completeTimeoutIn = statement(
  "complete_timeout_in",
  "Removes a timeout that was handled, in the caller's transaction.",
  ({ schema: s }) => `delete from ${s}.timeouts where generation = $1 and token = $2 returning generation`,
);

/** Not tried: due as before, not counted. Failed: due later, behind everything due now, or given up. */
export const releaseTimeouts = statement(
  "release_timeouts",
  "Releases timeouts that were not handled.",
  (d) => `
with t as materialized (select ${d.now} as now
), mine as materialized (${locked(d, RELEASES.from(1).as("a"), "o.token = a.token")}
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
select o.generation, a.token from ${RELEASES.from(1).only("generation", "token").as("a")}
cross join lateral (
  select o.generation from ${d.schema}.timeouts o where o.generation = a.generation and o.released_token = a.token limit 1
) o`,
);

interface RefusedRow extends TimeoutRecord {
  token: string | null;
  later: boolean;
}

export async function claim(
  db: Database,
  requests: readonly TimeoutClaimRequest[],
): Promise<readonly TimeoutClaimAnswer[]> {
  // Of several requests for one timeout, the first is tried; the others are answered with the result.
  const first = firstOfEach(requests, ({ generation }) => generation);
  const rows = await db.run<TimeoutRecord>(claimTimeouts, CLAIMS.arrays(first));
  const taken = new Map(rows.map((timeout) => [timeout.generation, timeout]));
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
  const rows = await db.run<RefusedRow>(refusedTimeouts, NAMES.arrays(refused));
  return new Map(rows.map((row) => [nameOf(row), row]));
}

function refusal({ generation, token }: TimeoutClaimRequest, row: RefusedRow | undefined): TimeoutClaimAnswer {
  if (!row) return { outcome: "notFound" };
  const { token: holder, later, ...timeout } = row;
  if (timeout.generation !== generation) return { outcome: "stateChanged" };
  // The reply to this call was lost, and it was repeated.
  if (holder === token) return { outcome: "claimed", timeout };
  // Free by now: the transaction that wrote to it has ended. The next look finds it.
  if (!later) return { outcome: "alreadyClaimed", by: null, until: null };
  if (holder === null) return { outcome: "stateChanged" };
  return { outcome: "alreadyClaimed", by: timeout.claimedBy, until: timeout.claimedUntil };
}

export async function complete(db: Database, fences: readonly TimeoutFence[]): Promise<readonly boolean[]> {
  const known = firstOfEach(fences, fenceName);
  const rows = await db.run<TimeoutFence>(completeTimeouts, FENCES.arrays(known));
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
  const rows = await db.run<TimeoutFence>(releaseTimeouts, RELEASES.arrays(known));
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

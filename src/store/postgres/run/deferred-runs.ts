// Deferred runs: recorded when the run is inserted, taken by the claim, cancelled when no node took one in time.

import type { NewDeferral, NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import { DEFAULT_HEARTBEAT_MS, MISSED_HEARTBEATS } from "../../contract/node/presence.js";
import { DEFERRED_EXPIRED, type ExpiredRun, type StackQuery } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { float8, type HasColumns, int, oneOf, rowset, text } from "../connection/rowset.js";
import { isStuck, stuckParts } from "../connection/stuck-runs.js";
import { wakeRuns } from "../inbox/wake-runs.js";
import { admitAfter } from "../limit/admit-runs.js";
import { endNotices } from "./end-notices.js";
import { ENDED } from "./ended-states.js";
import { groupJson } from "./groups.js";

interface Deferral extends NewDeferral {
  readonly run: number;
}

/** `run` is the place of the run in its batch, counted from 1. */
export const DEFERRALS = rowset<Deferral>()({
  run: int(({ run }) => run),
  by: text(({ by }) => by),
  expires_ms: float8(({ expiresInMs }) => expiresInMs),
});

export const isDeferred = (run: Pick<NewRun, "deferred">): boolean => run.deferred !== undefined;

export function deferralColumns(runs: readonly Pick<NewRun, "deferred">[]): unknown[] {
  return DEFERRALS.arrays(runs.flatMap(({ deferred }, i) => (deferred ? { run: i + 1, ...deferred } : [])));
}

/** Only for runs that this statement inserted (`r`). The time counts from when the run could begin. */
export const intoDeferred = ({ schema: s }: Dialect, runs: HasColumns<"id" | "delay_ms">, from: number) => `
  insert into ${s}.deferred_runs (run_id, by, expires_at)
  select ${runs.at("id", "f.run")}, f.by, t.now + ${interval(`${runs.at("delay_ms", "f.run")} + f.expires_ms`)}
  from ${DEFERRALS.from(from).as("f")}, t
  where ${oneOf(runs.at("id", "f.run"), "select id from r")}`;

/** Of runs in a CTE `claimed`: the node that takes one first is noted. Empty tables cost one look at an index. */
export const takeDeferred = ({ schema: s, now }: Dialect, owner: string) => `
  update ${s}.deferred_runs f set taken_by = ${owner}, taken_at = ${now}, pending = false
  where f.run_id = any(array(select id from claimed)) and f.pending`;

/** Locked as they are judged: one that is being claimed at this moment is skipped, and is not pending in the next round. */
const expireDeferredRuns = statement(
  "expire_deferred",
  "Cancels deferred runs that no node took in time.",
  (d) => `
with t as materialized (select ${d.now} as now
), due as materialized (
  select run_id, by from ${d.schema}.deferred_runs f where f.pending and f.expires_at <= (select ${d.now})
    and exists (select from ${d.schema}.runs r join ${d.schema}.claim_groups g on g.id = r.claim_group
      where r.id = f.run_id and g.env = $2)
  order by f.expires_at, f.run_id limit $1 for no key update skip locked
), l as materialized (
  select r.id, r.state from ${d.schema}.runs r where r.id = any(array(select run_id from due)) order by r.id
  for no key update skip locked
), ${stuckParts(d, "select id from l", "select id from l")}, cancelled as (
  update ${d.schema}.runs r set state = 'cancelled', seq = r.seq + 1, wake_at = null, ended_at = t.now
  from l, t where r.id = l.id and l.state <> 'running' and l.state not in ${ENDED} and not r.counts and not ${isStuck("l.id")}
  returning r.id as run_id, r.seq, r.parent_id, r.state, r.limited, r.claim_group
), written as (
  insert into ${d.schema}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'cancelled', '', 'json', '${JSON.stringify(DEFERRED_EXPIRED)}', t.now from cancelled, t
), closed_deferrals as (
  update ${d.schema}.deferred_runs f set pending = false where f.run_id = any(array(select id from l where not ${isStuck("l.id")})) and f.pending
), ended as (select run_id, parent_id, state, false as counted from cancelled
), ${endNotices(d)}
select c.run_id, c.limited, g.program, nullif(g.stack, '') as stack, due.by, null::uuid as notified
from cancelled c join due using (run_id)
cross join lateral (select program, stack from ${d.schema}.claim_groups g where g.id = c.claim_group limit 1) g
union all select null, null, null, null, null, run_id from notified`,
);

interface ExpiredRow {
  run_id: string | null;
  limited: boolean;
  program: string;
  stack: string | null;
  by: string;
  notified: string | null;
}

async function expireDeferred(
  db: Database,
  { env, limit }: { readonly env: string; readonly limit: number },
): Promise<readonly ExpiredRun[]> {
  if (limit < 1) return [];
  const rows = await db.run<ExpiredRow>(expireDeferredRuns, [limit, env]);
  const parents = rows.flatMap((row) => row.notified ?? []);
  await wakeRuns(db, parents);
  await admitAfter(
    db,
    rows.flatMap(({ run_id, limited }) => (limited && run_id !== null ? run_id : [])),
  );
  return rows
    .flatMap(({ run_id: runId, program, stack, by }) => (runId === null ? [] : { runId, program, stack, by }))
    .sort((a, b) => (a.runId < b.runId ? -1 : 1));
}

const PROGRAMS = rowset<StackQuery["programs"][number]>()({
  queue: text(({ queue }) => queue),
  program: text(({ program }) => program),
  version: text(({ version }) => version ?? ""),
});

/** A live node that takes runs from a group has it among its `claims`. */
const unservedGroupsOf = statement(
  "unserved_groups",
  "Lists groups of other stacks that no live node serves.",
  ({ schema: s, now }) => `
select g.id, ${groupJson("g")} as "group"
from ${s}.claim_groups g
where g.env = $1 and g.stack <> '' and g.stack <> $2 and ($3::text[] is null or g.stack = any($3::text[]))
  and exists (select from ${PROGRAMS.from(4).as("p")}
    where (g.queue, g.program, g.version) = (p.queue, p.program, p.version))
  and not exists (select from ${s}.nodes n
    where n.env = g.env and n.stack = g.stack and n.stopped_at is null and g.id = any(n.claims)
      and n.seen_at >= ${now} - ${interval(`${MISSED_HEARTBEATS} * coalesce(n.heartbeat_ms, ${DEFAULT_HEARTBEAT_MS})`)})
order by g.stack collate "C", g.queue collate "C", g.program collate "C", g.version collate "C"`,
);

async function unservedGroups(
  db: Database,
  query: StackQuery,
): Promise<readonly { readonly id: number; readonly group: RunGroup }[]> {
  const { env, stacks, own, programs } = query;
  const values = [env, own ?? "", stacks, ...PROGRAMS.arrays(programs)];
  return db.run<{ id: number; group: RunGroup }>(unservedGroupsOf, values);
}

const keyOfRun = statement(
  "key_of_run",
  "Reads the key that a run holds.",
  ({ schema: s }) => `
select k.scope, k.key from ${s}.runs r join ${s}.run_keys k on k.hash = r.key_hash and k.run_id = r.id where r.id = $1`,
);

async function keyOf(db: Database, runId: string): Promise<{ scope: string; key: string } | null> {
  const [row] = await db.run<{ scope: string; key: string }>(keyOfRun, [runId]);
  return row ?? null;
}

export const deferrals = { expireDeferred, unservedGroups, keyOf };

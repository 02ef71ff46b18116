// Removes what the store's retention no longer keeps: ended runs and instances, keys that outlived their runs, old audit and claims.

import { ENDED_STATES, type EndedState } from "../../kernel/run/run-state.js";
import { type Retention, runAges } from "../../kernel/setting/retention.js";
import { type Cleaned, type CleanRound, type RetainedPart, SHORTEST_AUDIT_MS } from "../contract/cleanup.js";
import type { Database } from "./connection/database.js";
import { type Statement, statement } from "./connection/dialect.js";
import { interval } from "./connection/instant.js";
import { float8, rowset } from "./connection/rowset.js";
import { pruneInstances } from "./machine/machines.js";
import { ENDED, ENDED_PARTS, endedPartOf } from "./run/ended-states.js";
import { removeOld, UNFLUSHED } from "./run/remove-runs-sql.js";

const PART_OF: Readonly<Record<EndedState, number>> = {
  completed: ENDED_PARTS.ended,
  cancelled: ENDED_PARTS.ended,
  skipped: ENDED_PARTS.ended,
  failed: ENDED_PARTS.trouble,
  dead: ENDED_PARTS.trouble,
};
/** In the order of ENDED_STATES. */
const AGES = rowset<number | null>()({ ms: float8((age) => age) });
const texts = (list: readonly unknown[]) => `array[${list.map((one) => `'${one}'`).join(", ")}]`;

/**
 * Ranges and their limit as in run/retain-runs.ts. One group after the other, so that reading ends with the batch: in the order of
 * time over all groups, each of them was read up to the limit. A child goes after its parent, because a parent that is kept may be
 * retried and ask for it again; OFFSET, because the planner would be free to join a range with all runs.
 */
export const cleanRuns = statement("clean_runs", "Removes runs that the store no longer keeps.", (d) => {
  const { schema: s, now } = d;
  const parts = ENDED_STATES.map((state) => PART_OF[state]);
  return `
with ages as materialized (
  select (${texts(ENDED_STATES)})[x.place] as state, (array[${parts.join(", ")}])[x.place] as part, ${now} - ${interval("x.ms")} as until
  from ${AGES.from(2).as("x", "place")}
  where x.ms is not null
), ranges as materialized (
  select a.part, max(a.until) as until
  from (select part, until from ages union all select ${ENDED_PARTS.archived}, until from ages) a group by a.part
), found as materialized (
  select x.id
  from ${s}.claim_groups g cross join ranges p
  cross join lateral (
    select r.id from ${s}.runs r
    where r.claim_group = g.id and ${endedPartOf("r")} = p.part and r.ended_at <= p.until
      and r.ended_at <= (select a.until from ages a where a.state = r.state)
      and not exists (select from ${s}.runs o where o.id = r.parent_id offset 0)
    order by r.ended_at, r.id
    limit (select $3::int)
  ) x
  where g.env = $1
  limit $3
), old as materialized (
  select r.id from ${s}.runs r
  where r.id = any(array(select id from found)) and r.state in ${ENDED}
  for no key update of r skip locked
), ${removeOld(d)}
select (select count(*) from gone)::int as removed, (select count(*) from found) >= $3 as more
${UNFLUSHED}`;
});

/** A key that was reserved for a time and outlived its run. One whose run exists is free by then, too. */
export const cleanKeys = statement(
  "clean_keys",
  "Removes keys whose time has passed.",
  ({ schema: s, now }) => `
with page as materialized (
  select k.hash from ${s}.expired_keys($1, ${now} - ${interval("$2::float8")}, $3) k
), old as materialized (
  select k.hash from ${s}.run_keys k
  where k.hash = any(array(select hash from page)) and k.lifetime = 'timed' and k.expires_at <= ${now}
  for update skip locked
), gone as (
  delete from ${s}.run_keys k where k.hash = any(array(select hash from old)) returning 1
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more`,
);

/** A walk along the time; the place is the last one that was examined. The last reclaimed claim of a run is kept: the next one counts from it. */
export const cleanClaims = statement(
  "clean_claims",
  "Removes old records of reclaimed claims.",
  ({ schema: s, now }) => `
with place as materialized (
  select c.past from ${s}.cleanups c where c.env = $1 and c.part = 'claims'
), page as materialized (
  select k.run_id, k.epoch, k.at
  from place, ${s}.reclaimed_after(place.past, ${now} - ${interval("$2::float8")}, $3) k
), old as materialized (
  select x.ctid from page p cross join lateral (
    select k.ctid from ${s}.reclaimed_claims k
    where k.run_id = p.run_id and k.epoch = p.epoch
      and exists (select from ${s}.reclaimed_claims l where l.run_id = p.run_id and l.epoch > p.epoch)
      and exists (
        select from ${s}.runs r join ${s}.claim_groups g on g.id = r.claim_group where r.id = p.run_id and g.env = $1 offset 0)
    for update skip locked
  ) x
), gone as (
  delete from ${s}.reclaimed_claims k where k.ctid = any(array(select ctid from old)) returning 1
), moved as (
  update ${s}.cleanups c
  set past = case when (select count(*) from page) < $3 then '-infinity' else (select max(at) from page) end
  where c.env = $1 and c.part = 'claims'
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more`,
);

/** The oldest ids first: they are in the order of time. A trigger refuses to delete younger rows. */
export const cleanAudit = statement(
  "clean_audit",
  "Removes old rows of the audit.",
  ({ schema: s, now }) => `
with page as materialized (
  select a.id from ${s}.oldest_audit($1, $3) a where a.at <= ${now} - ${interval("$2::float8")}
), old as materialized (
  select a.id from ${s}.audit a where a.id = any(array(select id from page)) for update skip locked
), gone as (
  delete from ${s}.audit a where a.id = any(array(select id from old)) returning 1
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more`,
);

const STATEMENTS: Readonly<Record<Exclude<RetainedPart, "instances">, Statement>> = {
  runs: cleanRuns,
  keys: cleanKeys,
  claims: cleanClaims,
  audit: cleanAudit,
};

const NOTHING: Cleaned = { removed: 0, more: false };

/** `timeoutMs`: of the statement. Without `keepMs`, the store's own settings decide. */
export async function cleanRetained(
  db: Database,
  { part, env, keepMs, limit }: CleanRound & { readonly part: RetainedPart },
  retention: Retention,
  options: { readonly once: true; readonly timeoutMs: number },
): Promise<Cleaned> {
  const kept = keptFor(part, retention, keepMs);
  if (kept === null) return NOTHING;
  if (part !== "instances") return (await db.run<Cleaned>(STATEMENTS[part], [env, kept, limit], options))[0]!;
  const [row] = await db.run<{ removed: number }>(pruneInstances, [env, kept, limit], options);
  const { removed } = row!;
  return { removed, more: removed >= limit };
}

/** An age, or for runs one of each state; null: nothing is removed. */
function keptFor(part: RetainedPart, retention: Retention, keepMs: number | undefined) {
  if (part === "keys") return keepMs ?? 0;
  if (part === "audit") return keepMs === undefined ? retention.audit : Math.max(keepMs, SHORTEST_AUDIT_MS);
  if (part !== "runs") return keepMs ?? retention[part];
  const ages = runAges(retention);
  const list = ENDED_STATES.map((state) => keepMs ?? ages[state]);
  return list.every((age) => age === null) ? null : list;
}

// Archives ended runs, and deletes them with everything that belongs to them.

import { PROBE_GRACE_MS } from "../../contract/limit/breakers.js";
import type { RunStore } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { type Dialect, type Statement, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { oneOf } from "../connection/rowset.js";
import { ENDED, ENDED_PARTS, endedPartOf } from "./ended-states.js";

/**
 * The oldest first. Each endedPartOf of a group is one range of the index runs_ended: what is not old is not read, nor what is
 * another env's or archived already (through the primary key, 300,000 runs were read to find that none is old).
 * Locked afterwards, by id: the ranges find more than is wanted.
 */
const oldOnes = ({ schema: s, now }: Dialect, parts: readonly number[], also: string) => `
with found as materialized (
  select x.id
  from ${s}.claim_groups g
  cross join unnest(array[${parts.join(", ")}]) as part(n)
  cross join lateral (
    select r.id, r.ended_at from ${s}.runs r
    where r.claim_group = g.id and ${endedPartOf("r")} = part.n
      and r.ended_at <= (select ${now}) - ${interval("$2::float8")} and r.state <> 'quarantined' and ${also}
    order by r.ended_at, r.id
    limit $3
  ) x
  where g.env = $1
  order by x.ended_at, x.id
  limit $3
), old as materialized (
  select r.id from ${s}.runs r
  where r.id = any(array(select id from found)) and r.state in ${ENDED}
  for no key update of r skip locked
)`;

export const archiveRuns = statement(
  "archive_runs",
  "Archives runs that ended a given time ago.",
  (d) => `${oldOnes(d, [ENDED_PARTS.ended, ENDED_PARTS.trouble], "true")}
update ${d.schema}.runs r set archived_at = ${d.now}
where r.id = any(array(select id from old)) and r.state in ${ENDED} and r.archived_at is null
returning r.id`,
);

/**
 * Only terminal and unreferenced: a live parent may still ask for its child's result. Keys are locked in their order
 * first, as in the statement that frees stale ones; of the messages, no other statement waits for one while it holds another. Rates whose
 * next start is past mean the same as none: they go, too ('0' comes after '/'). So do old tries of a
 * circuit breaker whose run is gone, or was never inserted.
 */
export const pruneRuns = statement("prune_runs", "Removes runs that ended a given time ago.", (d) => {
  const { schema: s, now } = d;
  const unreferenced = `not exists (select from ${s}.runs p where p.id = r.parent_id and p.state not in ${ENDED})`;
  return `${oldOnes(d, Object.values(ENDED_PARTS), unreferenced)}, gone as (
  delete from ${s}.runs r where r.id = any(array(select id from old)) and r.state in ${ENDED} returning r.id, r.key_hash
), journal as (
  delete from ${s}.journal j where j.run_id = any(array(select id from gone))
), taken as (
  delete from ${s}.reclaimed_claims k where k.run_id = any(array(select id from gone))
), deferred as (
  delete from ${s}.deferred_runs f where f.run_id = any(array(select id from gone))
), needs as (
  delete from ${s}.run_needs n where n.need_id = any(array(select id from gone))
), misfits as (
  delete from ${s}.misfit_runs m where m.run_id = any(array(select id from gone))
), attributes as (
  delete from ${s}.run_attributes a where a.run_id = any(array(select id from gone))
), limits as (
  delete from ${s}.run_limits l where l.run_id = any(array(select id from gone))
), past as materialized (
  select r.key from ${s}.limit_rates r
  where r.key >= $1 || '/' and r.key < $1 || '0' and r.next_at <= ${now} limit $3 for update skip locked
), rates as (
  delete from ${s}.limit_rates r where r.key = any(array(select key from past))
), tries as materialized (
  select p.env, p.program, p.opening, p.n from ${s}.breaker_probes p
  where p.env = $1 and p.at <= ${now} - ${interval(`greatest($2::float8, ${PROBE_GRACE_MS})`)}
    and (${oneOf("p.run_id", "select id from gone")} or not exists (select from ${s}.runs r where r.id = p.run_id))
  order by p.at, p.run_id limit $3 for update skip locked
), probes as (
  delete from ${s}.breaker_probes p using tries x
  where (p.env, p.program, p.opening, p.n) = (x.env, x.program, x.opening, x.n)
), inbox as (
  delete from ${s}.inbox i where i.run_id = any(array(select id from gone))
), held as materialized (
  select k.hash from ${s}.run_keys k
  where k.hash = any(array(select key_hash from gone where key_hash is not null)) and k.run_id = any(array(select id from gone))
  order by 1 for update
), keys as (
  delete from ${s}.run_keys k using held h where k.hash = h.hash and k.run_id = any(array(select id from gone))
)
select id from gone`;
});

/** Returns how many. */
export const byAge =
  (which: Statement) =>
  async (db: Database, { env, endedBeforeMs, limit }: Parameters<RunStore["archive"]>[0]) =>
    limit < 1 ? 0 : (await db.run(which, [env, endedBeforeMs, limit])).length;

export const retention = { archive: byAge(archiveRuns), prune: byAge(pruneRuns) };

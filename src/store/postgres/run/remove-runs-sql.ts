// Deletes ended runs with everything that belongs to them: the end of every statement that prunes.

import { PROBE_GRACE_MS } from "../../contract/limit/breakers.js";
import type { Dialect } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { oneOf } from "../connection/rowset.js";
import { ENDED } from "./ended-states.js";

/**
 * A deletion is not flushed by itself: what a crash of the server brings back is old, and is deleted again. A commit that relies on
 * the deletion comes later in the log, and its flush includes it. So retention adds no flush to those of the nodes.
 */
export const UNFLUSHED = "where set_config('synchronous_commit', 'off', true) = 'off'";

/**
 * Deletes the runs of `old`, which are locked; $1 is the env and $3 the most rows. Keys are locked in their order first, as in the
 * statement that frees stale ones; of the messages, no other statement waits for one while it holds another. A key that is reserved
 * for a longer time stays, and goes with `cleanUp`. Keys are looked up one by one: as two lists of ids, each key was compared with
 * every run of the batch.
 * Old tries of a circuit breaker whose run is gone, or was never inserted, go, too.
 */
export const removeOld = ({ schema: s, now }: Dialect, probeMs = String(PROBE_GRACE_MS)) => `gone as (
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
), tries as materialized (
  select p.env, p.program, p.opening, p.n from ${s}.breaker_probes p
  where p.env = $1 and p.at <= ${now} - ${interval(probeMs)}
    and (${oneOf("p.run_id", "select id from gone")} or not exists (select from ${s}.runs r where r.id = p.run_id))
  order by p.at, p.run_id limit $3 for update skip locked
), probes as (
  delete from ${s}.breaker_probes p using tries x
  where (p.env, p.program, p.opening, p.n) = (x.env, x.program, x.opening, x.n)
), inbox as (
  delete from ${s}.inbox i where i.run_id = any(array(select id from gone))
), held as materialized (
  select k.hash from (select id, key_hash from gone where key_hash is not null order by key_hash) g
  cross join lateral (
    select k.hash from ${s}.run_keys k
    where k.hash = g.key_hash and k.run_id = g.id and not (k.lifetime = 'timed' and k.expires_at > ${now})
    for update
  ) k
), keys as (
  delete from ${s}.run_keys k where k.hash = any(array(select hash from held))
)`;

/** Rates whose next start is past mean the same as none ('0' comes after '/'). */
export const removePastRates = ({ schema: s, now }: Dialect) => `past as materialized (
  select r.key from ${s}.limit_rates r
  where r.key >= $1 || '/' and r.key < $1 || '0' and r.next_at <= ${now} limit $3 for update skip locked
), rates as (
  delete from ${s}.limit_rates r where r.key = any(array(select key from past))
)`;

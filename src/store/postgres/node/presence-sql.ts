// SQL fragments that decide whether a node lives: by its session lock where it has one, and by its last sign of life.

import {
  DEFAULT_GRACE_MS,
  DEFAULT_HEARTBEAT_MS,
  DEFAULT_WATCH_MS,
  MANY_LOST,
  MISSED_HEARTBEATS,
  SILENT_HEARTBEATS,
  TROUBLE_FACTOR,
  WATCHED_HEARTBEATS,
} from "../../contract/node/presence.js";
import type { Dialect } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { oneOf } from "../connection/rowset.js";

/** The class of our session locks: the first half of PostgreSQL's two-part lock key. */
export const PRESENCE_CLASS = 0x686f6c64;
/** A server that has just started has no locks yet: live nodes are back within half a second. */
const YOUNG = "pg_postmaster_start_time() > clock_timestamp() - interval '2 seconds'";

/** The CTE `here`: the numbers of the locks that are held. */
export const HERE = `here as materialized (
  select objid::bigint as presence from pg_locks
  where locktype = 'advisory' and classid = ${PRESENCE_CLASS} and granted
    and database = (select oid from pg_database where datname = current_database())
)`;

/** Whether the lock with this number is held, given `here`. */
export const isHere = (presence: string) => oneOf(presence, "select presence from here");

const heartbeatsMs = (n: string) => `${MISSED_HEARTBEATS} * coalesce(${n}.heartbeat_ms, ${DEFAULT_HEARTBEAT_MS})`;

/** Gave a sign of life within three heartbeats. */
export const isHeard = (now: string) => `n.seen_at >= ${now} - ${interval(heartbeatsMs("n"))}`;

/** No sign of life for as long as its claims would have lasted, had it renewed them. */
export const isSilent = (now: string) =>
  `n.seen_at < ${now} - ${interval(`greatest(n.lease_ms, ${heartbeatsMs("n")})`)}`;

/**
 * Whether node `n` lives, given `here`, for a start that would replace it. A missing lock proves a death, unless the node gave a
 * sign of life after the loss was noted. A held lock proves nothing for a machine that lost its power, whose session the server
 * keeps for hours: there silence decides, and also for a node that has no lock, or not yet: between its registration and
 * its lock a start on a busy machine took longer than three heartbeats.
 */
export const isLive = (now: string) => `(n.stopped_at is null and not ${isSilent(now)}
    and (n.presence is null or ${isHere("n.presence")} or coalesce(n.seen_at >= n.absent_since, false) or (${YOUNG} and ${isHeard(now)})))`;

const GRACE = `coalesce(n.presence_grace_ms, ${DEFAULT_GRACE_MS})`;
const SILENCE = `greatest(${GRACE}, ${SILENT_HEARTBEATS} * coalesce(n.heartbeat_ms, ${DEFAULT_HEARTBEAT_MS}))`;

/** A claim is a sign of life, too, and so is its renewal; the leases of a node that is alone have no end, and prove nothing. */
const lastGrant = (s: string) => `case when not n.alone then (
      select max(r.lease_until) from ${s}.runs r where r.state = 'running' and r.owner = n.incarnation
    ) - ${interval("n.lease_ms")} end`;

export interface Witness {
  readonly env: string;
  /** How long the witness has watched without a gap, and whether that began after a failure of its own. */
  readonly watchedMs: string;
  readonly troubled: string;
}

/**
 * CTEs `missing` and `departing`, given `t` and `here`: the nodes of the witness's env whose lock is missing, and when each of them is
 * gone (`at`), judged by its own registered settings. Its lock has been missing for its grace, it gave no sign of life for
 * two heartbeats, and the witness has watched for as long. A restart of the server, a witness whose own connection
 * broke at about the same time, and many locks lost at once are reasons to doubt: each of these triples the times. Nodes that died long ago are
 * no evidence of that, so a lock counts as lost together with others only when its node gave signs of life until then.
 */
export function departingParts({ schema: s }: Dialect, { env, watchedMs, troubled }: Witness): string {
  return `missing as materialized (
  select n.incarnation, coalesce(n.absent_since, t.now) as since, greatest(n.seen_at, ${lastGrant(s)}) as seen_at, ${GRACE} as grace, ${SILENCE} as silence,
    n.seen_at > coalesce(n.absent_since, t.now) - ${interval(heartbeatsMs("n"))} as sudden
  from ${s}.nodes n, t
  where n.env = ${env} and n.stopped_at is null and n.presence is not null and not ${isHere("n.presence")}
), departing as materialized (
  select m.incarnation, greatest(m.since + ${interval("f.n * m.grace")}, m.seen_at + ${interval("f.n * m.silence")},
    t.now + ${interval(`f.n * m.grace - ${watchedMs}`)}) as at
  from t cross join missing m cross join lateral (
    select count(*) as lost from missing o
    where o.sudden and abs(extract(epoch from o.since - m.since)) * 1000 <= m.silence
  ) a cross join lateral (
    select case when (${troubled} and m.since <= t.now + ${interval(`m.silence - ${watchedMs}`)})
        or pg_postmaster_start_time() > clock_timestamp() - ${interval(`${TROUBLE_FACTOR} * m.silence`)}
        or (a.lost >= ${MANY_LOST} and a.lost >= (
          select count(*) from ${s}.nodes n
          where n.env = ${env} and n.stopped_at is null and n.presence is not null and ${isHere("n.presence")}))
      then ${TROUBLE_FACTOR} else 1 end as n
  ) f
)`;
}

/**
 * The CTE `gone`, given `departing`. A node that is alone renews nothing, so its claims have no end: it is gone when it has been
 * silent for the time that its lease would have been.
 */
export function goneParts({ schema: s }: Dialect, { env, watchedMs }: Witness): string {
  return `gone as materialized (
  select incarnation from departing, t where at <= t.now
  union all
  select n.incarnation from ${s}.nodes n, t
  where n.alone and n.env = ${env} and ${isSilent("t.now")} and ${hasWatched("n.heartbeat_ms", watchedMs)}
)`;
}

/** Long enough that after an outage every holder with such heartbeats had the chance to renew first. */
export const hasWatched = (heartbeatMs: string, watchedMs: string) =>
  `${watchedMs} >= ${WATCHED_HEARTBEATS} * coalesce(${heartbeatMs}, ${DEFAULT_WATCH_MS})`;

/** Whether the witness is to reclaim run `r`, given `gone`. */
export const isOrphan =
  ({ schema: s }: Dialect, { watchedMs }: Witness) =>
  (time: string) =>
    `((r.lease_until <= ${time} and ${hasWatched(
      `(select n.heartbeat_ms from ${s}.nodes n where n.incarnation = r.owner)`,
      watchedMs,
    )}) or ${HOLDER_GONE})`;

export const HOLDER_GONE = "r.owner = any(array(select incarnation from gone))";

/** Whether run `r` belongs to the env. */
export const inEnv = ({ schema: s }: Dialect, env: string) =>
  `(select g.env from ${s}.claim_groups g where g.id = r.claim_group) = ${env}`;

// SQL fragments that tell whether a node lives: by its session lock where it has one, by its heartbeats else.

import { MISSED_HEARTBEATS, UNSAID_HEARTBEAT_MS } from "../contract/nodes.js";
import { oneOf } from "./batch.js";
import { interval } from "./instant.js";

/** The class of our session locks: the first half of PostgreSQL's two-part lock key. */
export const PRESENCE_CLASS = 0x686f6c64;
/** A server that has just started has nobody's lock yet: live nodes are back within half a second. */
const YOUNG = "pg_postmaster_start_time() > clock_timestamp() - interval '2 seconds'";

/** The CTE `here`: the numbers of the locks that are held. */
export const HERE = `here as materialized (
  select objid::bigint as presence from pg_locks
  where locktype = 'advisory' and classid = ${PRESENCE_CLASS} and granted
    and database = (select oid from pg_database where datname = current_database())
)`;

/** Whether the lock with this number is held, given `here`. */
export const isHere = (presence: string) => oneOf(presence, "select presence from here");

const HEARTBEATS_MS = `${MISSED_HEARTBEATS} * coalesce(n.heartbeat_ms, ${UNSAID_HEARTBEAT_MS})`;

/** Heard of within three heartbeats. */
export const isHeard = (now: string) => `n.seen_at >= ${now} - ${interval(HEARTBEATS_MS)}`;

/** Not heard of for as long as its claims would have held, had it renewed them. */
export const isSilent = (now: string) => `n.seen_at < ${now} - ${interval(`greatest(n.lease_ms, ${HEARTBEATS_MS})`)}`;

/**
 * Whether node `n` lives, given `here`. A lock that is gone tells at once. One that is held tells nothing of a machine that
 * lost its power, whose session the server keeps for hours: there silence decides, and also for a node that has no lock, or not
 * yet: between its registration and its lock a start on a busy machine took longer than three heartbeats.
 */
export const isLive = (now: string) => `(n.stopped_at is null and not ${isSilent(now)}
    and (n.presence is null or ${isHere("n.presence")} or (${YOUNG} and ${isHeard(now)})))`;

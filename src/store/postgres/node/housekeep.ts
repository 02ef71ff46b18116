// One round of housekeeping as one statement: a sign of life, which nodes are missing, and what is due. An idle node sends one query a second.

import type { ModeState } from "../../../kernel/node-mode.js";
import type { HouseReport, HouseRound } from "../../contract/node/house.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { departingParts, goneParts, HERE, inEnv, isHere, isLive, isOrphan } from "./presence-sql.js";

const WITNESS = { env: "$2::text", watchedMs: "$3::float8", troubled: "$4::boolean" };

/** Live nodes of the same env that claim from a group that node `incarnation` claims from, itself included; given `here`. */
const peersOf = ({ schema: s }: Dialect, incarnation: string, now: string) => `(
    select count(*)::int from ${s}.nodes n join ${s}.nodes m on m.incarnation = ${incarnation}
    where n.env = m.env and n.claims && m.claims and (n.incarnation = m.incarnation or ${isLive(now)}))`;

/**
 * Its parts in order: t (the time), here (presence-sql.ts: the session locks that are held), mine and beat (the node's own sign of
 * life), changed and absent (notes which nodes are missing), missing, departing and gone (presence-sql.ts: which of them count as
 * gone), SELECT (what is due).
 *
 * It writes rows of nodes only, and none that others have locked: those are left to the next round. (After a restart of the
 * database every node misses every other at once, and two of these statements that waited for each other's rows deadlocked.) It
 * only reads what is to be done: each part is a separate statement, so that none of them can hold up the sign of life.
 */
export const housekeepingRound = statement(
  "housekeep",
  "Asks, once a round, which parts of housekeeping have something to do.",
  (d) => {
    const { schema: s } = d;
    return `
with t as materialized (select ${d.now} as now
), ${HERE}, mine as materialized (
  select incarnation from ${s}.nodes where incarnation = $1 and stopped_at is null for no key update skip locked
), beat as (
  update ${s}.nodes n set seen_at = t.now, vitals = coalesce($7::jsonb, n.vitals),
    absent_since = case when n.presence is null or ${isHere("n.presence")} then null else coalesce(n.absent_since, t.now) end
  from mine m, t where n.incarnation = m.incarnation
), changed as materialized (
  select incarnation from ${s}.nodes n
  where n.env = $2::text and n.stopped_at is null and n.presence is not null and n.incarnation <> $1
    and (n.absent_since is null) <> ${isHere("n.presence")}
  for no key update skip locked
), absent as (
  update ${s}.nodes n
  set absent_since = case when ${isHere("n.presence")} then null else coalesce(n.absent_since, t.now) end
  from changed c, t where n.incarnation = c.incarnation
), ${departingParts(d, WITNESS)}, ${goneParts(d, WITNESS)}
select me.incarnation is not null as registered, coalesce(${isHere("me.presence")} and me.presence is not null, false) as present,
  case when me.incarnation is not null then json_build_object('mode', me.mode, 'overrides', me.overrides, 'drain', me.drain) end as mode,
  exists (select from ${s}.runs r where r.state = 'running' and ${isOrphan(d, WITNESS)("t.now")} and ${inEnv(d, WITNESS.env)}) as orphans,
  exists (select from ${s}.runs r where r.state = 'parked' and r.wake_at <= (select now from t))
    or exists (select from ${s}.inbox where taken_seq is null) as due,
  exists (select from ${s}.deferred_runs where pending and expires_at <= (select now from t)) as overdue,
  ${peersOf(d, "$1", "(select now from t)")} as peers,
  array(
    select g.id from unnest($6::int[]) as g(id) where not exists (
      select from ${s}.nodes n
      where n.env = $2::text and n.incarnation < $1 and g.id = any(n.claims) and ${isLive("(select now from t)")}
    ) order by g.id
  ) as first,
  array(
    select n.incarnation::text from gone g join ${s}.nodes n using (incarnation)
    where n.seen_at > t.now - interval '1 minute' order by 1
  ) as gone,
  coalesce((select min(m.look_at) from ${s}.misfit_runs m where m.env = $2::text) <= t.now, false) as misfits,
  case when $5::boolean then (
    select json_agg(json_build_object('runId', r.id, 'inboxSeq', r.inbox_seq))
    from ${s}.runs r
    cross join lateral (select from ${s}.inbox i where i.run_id = r.id and i.taken_seq is null limit 1) i
    where r.state = 'running' and r.owner = $1
  ) end as called,
  exists (select from ${s}.run_limits where state = 'waits' and available_at <= (select now from t)) as held,
  ceil(extract(epoch from least(
    (select min(r.wake_at) from ${s}.runs r where r.state = 'parked' and r.wake_at > (select now from t)),
    (select min(l.available_at) from ${s}.run_limits l where l.state = 'waits' and l.available_at > (select now from t)),
    (select min(g.at) from departing g where g.at > (select now from t))
  ) - t.now) * 1000)::float8 as next_wake_ms
from t left join lateral (
  select * from ${s}.nodes n where n.incarnation = $1 and n.stopped_at is null
) me on true`;
  },
);

interface Row extends Omit<HouseReport, "called" | "nextWakeMs"> {
  called: HouseReport["called"] | null;
  mode: ModeState | null;
  next_wake_ms: number | null;
}

/** The sign of life is worth little when it comes late, and the next one must not wait for it. */
const BEAT_TIMEOUT_MS = 3_000;

export async function housekeep(db: Database, round: HouseRound): Promise<HouseReport> {
  const { incarnation, env, watchedMs, troubled, alone = false, timerGroups = [], vitals } = round;
  const values = [incarnation, env, watchedMs, troubled, alone, timerGroups, vitals ? JSON.stringify(vitals) : null];
  // Not repeated: the caller must know that there was a gap, and has a next round.
  const [row] = await db.run<Row>(housekeepingRound, values, { once: true, timeoutMs: BEAT_TIMEOUT_MS });
  const { called, next_wake_ms: nextWakeMs, ...rest } = row!;
  return { ...rest, called: called ?? [], nextWakeMs };
}

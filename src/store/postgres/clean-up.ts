// Removes rows that are no longer needed, in batches. A row of `cleanups` stores when a part was last done, and how far it came.

import type { Retention } from "../../kernel/setting/retention.js";
import {
  type Cleaned,
  type CleanPart,
  type CleanRound,
  isRetained,
  KEPT_NODES,
  MESSAGE_MEMORY_MS,
  type RetainedPart,
  SILENT_NODE_MS,
} from "../contract/cleanup.js";
import { cleanRetained } from "./clean-retained.js";
import type { Database } from "./connection/database.js";
import { type Statement, statement } from "./connection/dialect.js";
import { interval } from "./connection/instant.js";
import { isSilent } from "./node/presence-sql.js";

/** A statement that takes longer is given up: the next round does the rest. */
const TIMEOUT_MS = 5_000;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";
/** New generations examined in one statement. */
const PAGE = 500;
/** The class of the lock under which the floor of lease epochs is raised: the first half of PostgreSQL's two-part lock key. */
const FLOOR_CLASS = 0x686f6c66;

/** Nothing is locked for longer than this statement: a node that dies in its turn delays the next turn and nothing else. */
export const takeTurn = statement(
  "take_cleanup_turn",
  "Takes the turn to clean up one part of an env, if it is due.",
  ({ schema: s, now }) => `
insert into ${s}.cleanups as c (env, part, at) values ($1, $2, ${now})
on conflict (env, part) do update set at = excluded.at where c.at <= excluded.at - ${interval("$3::float8")}
returning part`,
);

/** How far the part came. */
const place = (s: string, part: CleanPart) => `place as materialized (
  select c.past, c.after from ${s}.cleanups c where c.env = $1 and c.part = '${part}'
)`;
/** The end of a walk along keys: the next one begins at the first. */
const walkOn = (s: string, part: CleanPart) => `moved as (
  update ${s}.cleanups c set after = case when (select count(*) from page) < $3 then '' else (select max(key) from page) end
  where c.env = $1 and c.part = '${part}'
)`;

/**
 * Each generation after the first begins with an entry of its own kind, so a small index of those, in the order of time, leads to
 * what came before them; the place is the last one that was served. Rows before a start that is no recovery are never read
 * again. Recoveries since then are counted by the crash limit: before one, the starts themselves are kept. A generation whose
 * transaction was slower than `keepMs` is passed over, and removed with the run's next one.
 */
export const cleanGenerations = statement(
  "clean_generations",
  "Removes journal entries and messages of earlier generations of runs that continued.",
  ({ schema: s, now }) => {
    const forgotten = `case i.kind when 'child' then i.name = 'completed' else right(i.key, 36) = i.message_id::text end
      or i.at <= (select now from t) - interval '${MESSAGE_MEMORY_MS} milliseconds'`;
    return `
with t as materialized (select ${now} as now
), ${place(s, "generations")}, page as materialized (
  select g.run_id, g.seq, g.name, g.at
  from place, ${s}.generations_after(place.past, coalesce(nullif(place.after, ''), '${FIRST_ID}')::uuid,
    (select now from t) - ${interval("$2::float8")}, ${PAGE}) g
), starts as materialized (
  select p.run_id, max(p.seq) as seq, coalesce(max(p.seq) filter (where p.name <> 'recovery'), 0) as boundary
  from page p
  where exists (
    select from ${s}.runs r join ${s}.claim_groups g on g.id = r.claim_group
    where r.id = p.run_id and g.env = $1 and r.base_seq >= p.seq - 1 offset 0)
  group by p.run_id
), entries as materialized (
  select x.ctid from starts f cross join lateral (
    select j.ctid from ${s}.journal j
    where j.run_id = f.run_id and j.seq < f.seq and (j.seq < f.boundary or j.kind not in ('start', 'retried'))
    order by j.seq limit $3 for update skip locked
  ) x limit $3
), messages as materialized (
  select x.ctid from starts f cross join lateral (
    select i.ctid from ${s}.inbox i
    where i.run_id = f.run_id and i.taken_seq > 0 and i.taken_seq < f.seq and (${forgotten})
    order by i.key limit $3 for update skip locked
  ) x limit $3
), gone as (
  delete from ${s}.journal j where j.ctid = any(array(select ctid from entries)) returning 1
), read as (
  delete from ${s}.inbox i where i.ctid = any(array(select ctid from messages)) and i.taken_seq > 0 returning 1
), full_batch as materialized (
  select greatest((select count(*) from entries), (select count(*) from messages)) >= $3 as is_full,
    (select count(*) from page) >= ${PAGE} as has_next
), moved as (
  update ${s}.cleanups c set (past, after) = (select p.at, p.run_id::text from page p order by p.at desc, p.run_id desc limit 1)
  where c.env = $1 and c.part = 'generations' and exists (select from page) and not (select is_full from full_batch)
)
select ((select count(*) from gone) + (select count(*) from read))::int as removed, is_full or has_next as more from full_batch`;
  },
);

const LEASE_END = "case l.state when 'claimed' then l.lease_until else l.finished_at end";

/**
 * A walk along the keys, a page in each call. Before rows go, the floor of epochs rises to theirs: a sequence, because what is read
 * from it is its value now and not that of a snapshot, so that an acquire which waited for this statement begins above it.
 */
export const cleanLeases = statement(
  "clean_leases",
  "Removes finished leases and those that expired long ago.",
  ({ schema: s, now }) => {
    const isOld = `${LEASE_END} <= (select now from t) - ${interval("$2::float8")}`;
    return `
with t as materialized (select ${now} as now
), ${place(s, "leases")}, page as materialized (
  select l.key, ${isOld} as is_old from place, ${s}.leases_after($1, place.after, $3) l
), old as materialized (
  select l.key, l.epoch from ${s}.leases l
  where l.env = $1 and l.key = any(array(select key from page where is_old)) and ${isOld}
  for update skip locked
), turn as materialized (
  select count(pg_advisory_xact_lock(${FLOOR_CLASS}, hashtext('${s.replaceAll('"', "")}'))) as n
  from (select max(epoch) as epoch from old) x where x.epoch is not null
), raised as materialized (
  select setval('${s}.lease_floor', greatest((select last_value from ${s}.lease_floor), (select max(epoch) from old))) as floor
  from turn where turn.n > 0
), gone as (
  delete from ${s}.leases l
  where l.env = $1 and l.key = any(array(select key from old)) and (select count(floor) from raised) > 0 returning 1
), ${walkOn(s, "leases")}
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more`;
  },
);

/**
 * The oldest starts first. Subscribers of theirs are removed by the nodes that declare (`retireSubscriptions`). One that holds a
 * run is kept: reclaiming asks who held the claim.
 */
export const cleanNodes = statement(
  "clean_nodes",
  "Removes the rows of nodes that stopped or fell silent long ago.",
  ({ schema: s, now }) => {
    const silent = `${isSilent("(select now from t)")} and n.seen_at <= (select now from t) - interval '${SILENT_NODE_MS} milliseconds'`;
    const isOver = `(n.stopped_at is not null or ${silent})
    and (coalesce(n.stopped_at, n.seen_at) <= (select now from t) - ${interval("$2::float8")}
      or n.started_at <= (select started_at from newest))`;
    return `
with t as materialized (select ${now} as now
), newest as materialized (select ${s}.last_start($1, ${KEPT_NODES}) as started_at
), page as materialized (
  select n.incarnation from ${s}.oldest_nodes($1, $3 + ${KEPT_NODES}) n
  where ${isOver} and not exists (select from ${s}.runs r where r.state = 'running' and r.owner = n.incarnation offset 0)
  order by n.started_at limit $3
), old as materialized (
  select n.incarnation from ${s}.nodes n
  where n.incarnation = any(array(select incarnation from page)) and ${isOver}
  for update skip locked
), gone as (
  delete from ${s}.nodes n where n.incarnation = any(array(select incarnation from old)) returning 1
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more`;
  },
);

/** A walk along the keys of the env. A rate whose next start has passed means the same as none. */
export const cleanRates = statement(
  "clean_rates",
  "Removes rate limits whose next start has passed.",
  ({ schema: s, now }) => {
    const isPast = `r.next_at <= (select now from t) - ${interval("$2::float8")}`;
    return `
with t as materialized (select ${now} as now
), ${place(s, "rates")}, page as materialized (
  select r.key, ${isPast} as is_past from place, ${s}.rates_after($1, place.after, $3) r
), past as materialized (
  select r.key from ${s}.limit_rates r where r.key = any(array(select key from page where is_past)) and ${isPast}
  for update skip locked
), gone as (
  delete from ${s}.limit_rates r where r.key = any(array(select key from past)) returning 1
), ${walkOn(s, "rates")}
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more`;
  },
);

/** A walk along the subjects. A gatherer that failed or died may be retried, and takes its event then. */
export const cleanDebounces = statement(
  "clean_debounces",
  "Removes debounced events that no run will take.",
  ({ schema: s, now }) => {
    const until = `(select now from t) - ${interval("$2::float8")}`;
    const isOver = `coalesce((select r.state in ('cancelled', 'skipped') and r.ended_at <= ${until} from ${s}.runs r where r.id = d.run_id),
    d.last_at <= ${until})`;
    return `
with t as materialized (select ${now} as now
), ${place(s, "debounces")}, page as materialized (
  select d.subscription, d.subject, json_build_array(d.subscription, d.subject)::text as key, ${isOver} as is_over
  from (select coalesce(nullif(place.after, ''), '["",""]')::json as after from place) p
  cross join lateral ${s}.debounces_after($1, p.after ->> 0, p.after ->> 1, $3) d
), old as materialized (
  select x.ctid, x.run_id from page p cross join lateral (
    select d.ctid, d.run_id from ${s}.debounces d
    where p.is_over and d.env = $1 and d.subscription = p.subscription and d.subject = p.subject and ${isOver}
    for update skip locked
  ) x
), gone as (
  delete from ${s}.debounces d
  where d.ctid = any(array(select ctid from old)) and d.run_id = any(array(select run_id from old)) returning 1
), moved as (
  update ${s}.cleanups c set after = case when (select count(*) from page) < $3 then ''
    else (select p.key from page p order by p.subscription desc, p.subject desc limit 1) end
  where c.env = $1 and c.part = 'debounces'
)
select (select count(*) from gone)::int as removed, (select count(*) from page) >= $3 as more`;
  },
);

/** The first to expire first. One that was written again meanwhile has another expiry. */
export const cleanKept = statement(
  "clean_kept_values",
  "Removes kept values that have expired.",
  ({ schema: s, now }) => {
    const isOver = `v.until <= (select now from t) - ${interval("$2::float8")}`;
    return `
with t as materialized (select ${now} as now
), old as materialized (
  select v.ctid from ${s}.kept_values v where v.env = $1 and ${isOver} order by v.until limit $3 for update skip locked
), gone as (
  delete from ${s}.kept_values v where v.ctid = any(array(select ctid from old)) and ${isOver} returning 1
)
select (select count(*) from gone)::int as removed, (select count(*) from old) >= $3 as more`;
  },
);

const STATEMENTS: Readonly<Record<Exclude<CleanPart, RetainedPart>, Statement>> = {
  generations: cleanGenerations,
  leases: cleanLeases,
  nodes: cleanNodes,
  rates: cleanRates,
  debounces: cleanDebounces,
  kept: cleanKept,
};

export async function cleanUp(db: Database, retention: Retention, round: CleanRound): Promise<Cleaned | null> {
  const { part, env, everyMs, keepMs, limit } = round;
  const options = { once: true, timeoutMs: TIMEOUT_MS } as const;
  if ((await db.run(takeTurn, [env, part, everyMs], options)).length === 0) return null;
  if (limit < 1) return { removed: 0, more: false };
  if (isRetained(part)) return cleanRetained(db, { ...round, part }, retention, options);
  const [cleaned] = await db.run<Cleaned>(STATEMENTS[part], [env, keepMs, limit], options);
  return cleaned!;
}

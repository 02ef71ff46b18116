// Claims waiting runs for the duration of a lease: running, epoch + 1, the caller's token.

import { readTicket } from "../../../kernel/run/debounce-ticket.js";
import { namesOf } from "../../contract/run/misfits.js";
import type { ClaimedRun, ClaimRequest } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval, ms } from "../connection/instant.js";
import {
  type GivenRow,
  givenOf,
  givenTo,
  hasShortLog,
  type LogRow,
  logOf,
  shortLog,
} from "../journal/peek-journals.js";
import { takeDeferred } from "../run/deferred-runs.js";

/** The groups of paused queues: none of their runs is handed out. */
export function pausedGroups(s: string): string {
  return `
  select c.id from ${s}.paused_queues p
  cross join lateral (select id from ${s}.claim_groups c where c.env = p.env and c.queue = p.queue offset 0) c`;
}

/** The time after which a run must have become due; `ms` is a parameter that may be null. */
export const recentFrom = (d: Dialect, ms: string) =>
  `(select coalesce(${d.now} - ${interval(`${ms}::float8`)}, '-infinity'))`;

/** Of row `r`: whether its crashes make it a suspect, as in `suspectFrom`. */
export const isSuspect = (crashes: string, r = "r") => `(${crashes} >= greatest(1, least(2, ${r}.crash_limit - 1)))`;

/** What a claim needs of a run. All columns of a run, passed from part to part, took 4 % more for a claim of one. */
const CLAIMED = `r.id, r.epoch, r.claim_group, r.priority, r.seq, r.base_seq, r.generation, r.inbox_seq, r.failures, r.crashes,
    r.crash_limit, r.parent_id, r.limited, r.counts, r.available_at`;

/**
 * Each group is one range of the index runs_waiting; LATERAL with its own LIMIT keeps the scan inside it
 * (`claim_group = any(…)` with ORDER BY read past 200,000 rows of others: 54–68 ms, this ≤ 6 ms).
 * MATERIALIZED, because under a nested loop a plain IN (SELECT … LIMIT …) claims more than the limit.
 * The clock is in a sub-select: as a bare volatile call it is no index bound (37 ms with 200,000 sleeping).
 * `id = any(array(…))` and the LIMIT in the last join keep the planner on the primary keys: given a join, it hashed the
 * whole table for a batch of 250 (30 ms with 20,000 runs).
 * The UPDATE does not ask for the state again: `picked` has locked the rows as waiting, and with the partial index
 * that condition made a planner without statistics read all of the index for each claim (12,000 entries for one run).
 * The limit is in a sub-select, too: known, it makes a plan with values look so much cheaper than the prepared one that with
 * many waiting every claim is planned again on a pool of the application's (claims a second with 200,000 waiting, against an empty table: 0.77 instead of 0.67).
 * `paused` is empty most of the time, and then nothing is looked up for it.
 * `misfits`: a run that this node's code does not fit is left to other nodes. With NULL, which nearly all rows have, nothing is compared.
 * `held` makes the call repeatable: a token that already holds runs gets those and no more.
 * Suspects ($6: null, 0 or 1): with 0, the scan skips them; with 1, those after the first are not claimed, although their rows were
 * locked for a moment.
 */
export const claimRuns = statement(
  "claim_runs",
  "Claims waiting runs of a node's groups, in order of priority and time.",
  (d) => {
    const { schema: s, now } = d;
    return `
with held as materialized (
  select id from ${s}.runs where state = 'running' and owner = $1 and token = $2
), paused as materialized (${pausedGroups(s)}
), picked as materialized (
  select x.id, x.suspect, x.priority, x.available_at
  from unnest($3::int[]) as g(id)
  cross join lateral (
    select r.id, r.priority, r.available_at, $6::int = 1 and ${isSuspect("r.crashes")} as suspect
    from ${s}.runs r
    where r.state = 'waiting' and r.claim_group = g.id and r.available_at <= (select ${now})
      and r.available_at > ${recentFrom(d, "$8")}
      and ($6::int is distinct from 0 or not ${isSuspect("r.crashes")})
      and (r.misfits is null or not r.misfits && $7::text[])
    order by r.priority, r.available_at
    limit (select $4::int)
    for no key update skip locked
  ) x
  where not exists (select from held) and g.id <> all(array(select id from paused))
  order by x.priority, x.available_at, x.id
  limit (select $4::int)
), claimed as (
  update ${s}.runs r
  set state = 'running', epoch = r.epoch + 1, token = $2, owner = $1, crashes = r.crashes + 1,
      lease_until = ${now} + ${interval("$5::float8")}
  where r.id = any(array(select id from picked where suspect is not true)
    || array(select id from picked where suspect order by priority, available_at, id limit 1))
  returning ${CLAIMED}
), taken as (${takeDeferred(d, "$1")}
), mine as (
  select * from claimed
  union all
  select ${CLAIMED} from ${s}.runs r join held using (id)
)
select m.id, m.epoch, m.claim_group, m.priority, m.seq, m.base_seq, m.generation, m.inbox_seq, m.failures, m.crashes,
  ${isSuspect("m.crashes - 1", "m")} as suspect,
  m.parent_id, m.limited, m.counts, j.codec, j.data, j.key, (select ${ms(now)}) as claimed_at,
  mail.run_id is not null as has_messages, (select by from ${s}.deferred_runs f where f.run_id = m.id) as deferred_by,
  case when m.counts then (${givenTo(s, "m")}) end as given,
  case when ${hasShortLog("m")} then (${shortLog(s, "m")}) end as log
from mine m
left join lateral (
  select codec, data, key from ${s}.journal j where j.run_id = m.id and j.seq = m.base_seq + 1 limit 1
) j on true
left join lateral (
  select run_id from ${s}.inbox i where i.run_id = m.id and i.taken_seq is null limit 1
) mail on true
order by m.priority, m.available_at, m.id`;
  },
);

interface Row {
  id: string;
  epoch: string;
  claim_group: number;
  priority: number;
  seq: string;
  base_seq: string;
  generation: number;
  inbox_seq: string;
  failures: number;
  crashes: number;
  suspect: boolean;
  parent_id: string | null;
  limited: boolean;
  counts: boolean;
  codec: string | null;
  data: string | null;
  key: string | null;
  claimed_at: number;
  has_messages: boolean;
  deferred_by: string | null;
  given: readonly GivenRow[] | null;
  log: readonly LogRow[] | null;
}

export async function claim(db: Database, request: ClaimRequest): Promise<readonly ClaimedRun[]> {
  const { owner, token, groupIds, limit, leaseMs, suspects = null, build, recentMs = null } = request;
  if (limit < 1 || groupIds.length === 0) return [];
  const names = namesOf(build, owner);
  const rows = await db.run<Row>(claimRuns, [owner, token, groupIds, limit, leaseMs, suspects, names, recentMs]);
  return rows.map((row) => ({
    runId: row.id,
    epoch: Number(row.epoch),
    token,
    groupId: row.claim_group,
    priority: row.priority,
    seq: Number(row.seq),
    baseSeq: Number(row.base_seq),
    generation: row.generation,
    inboxSeq: Number(row.inbox_seq),
    failures: row.failures,
    crashes: row.crashes,
    suspect: row.suspect,
    parentId: row.parent_id,
    limited: row.limited,
    counts: row.counts,
    given: row.given ? givenOf(row.given) : [],
    log: row.log ? logOf(row.log, { seq: Number(row.seq), baseSeq: Number(row.base_seq) }) : null,
    input: { codec: row.codec ?? "", data: row.data ?? "" },
    debounce: readTicket(row.key),
    deferredBy: row.deferred_by,
    hasMessages: row.has_messages,
    claimedAt: row.claimed_at,
  }));
}

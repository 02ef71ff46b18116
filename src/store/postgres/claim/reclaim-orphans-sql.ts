// Decides what happens to orphans and reclaims them, as SQL: by the policy of their programs, or by that of an operator.

import { orphanedError } from "../../../kernel/run/recovery.js";
import { MOST_LOSSES, NAMED_HOLDERS, NOT_ALONE_FACTOR, SAME_CRASH_MS } from "../../../kernel/run/suspicion.js";
import type { Dialect } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { isStuck, stuckParts } from "../connection/stuck-runs.js";
import { endNotices } from "../run/end-notices.js";

/** Of the rows in `expired`. */
export const EXPIRED =
  "r.id, r.epoch, r.owner, r.lease_until, r.base_seq, r.crashes, r.crash_limit, r.counts, r.pausing, r.pending";

/** A run that gathers events has not begun: whatever its program says, another node continues it. */
const GATHERS = "j.key like 'debounce %'";
const ENDS = "in ('dead', 'failed')";

const OWNER = "00000000-0000-0000-0000-000000000000";
/** The error that `orphanedError` makes, with the owner of each row put in. */
const orphaned = () => {
  const [before, after] = JSON.stringify(orphanedError(OWNER)).split(OWNER);
  return `'${before}' || owner || '${after}'`;
};
/**
 * A CTE that records whose claim was reclaimed, in the statement that reclaims it: `from` has the columns run_id, epoch, owner,
 * verdict, counted and losses. A claim is reclaimed once; a record that exists already must not stop the others.
 */
export const noteReclaimed = ({ schema: s }: Dialect, from: string, by: string) => `noted as (
  insert into ${s}.reclaimed_claims (run_id, epoch, owner, by, outcome, at, counted, losses)
  select run_id, epoch, owner, ${by}, verdict, t.now, counted, losses from ${from}, t
  on conflict do nothing
)`;

/**
 * Of a reclaimed claim (`k`): its holder gave a sign of life since, so it was cut off and did not die. A worker of the queue API
 * states no lease: a timeout there is an attempt, whether its worker lives or not. (Each sub-select for one row has a LIMIT: with
 * EXISTS, the planner read whole tables to hash them.)
 */
const wasLost = (s: string) => `coalesce((
        select n.seen_at > k.at from ${s}.nodes n where n.incarnation = k.owner and n.lease_ms is not null limit 1), false)`;

/** The holders that died, as the JSON of `crashReason`, given a row with run_id, epoch, owner and crashes. */
const holders = (s: string, x: string) => `(
    select string_agg('{"epoch":' || h.epoch || ',"incarnation":"' || h.owner || '","node":'
      || coalesce((select to_json(n.name)::text from ${s}.nodes n where n.incarnation = h.owner), 'null') || '}', ',' order by h.epoch)
    from (
      (select k.epoch, k.owner from ${s}.reclaimed_claims k
       where k.run_id = ${x}.run_id and k.epoch < ${x}.epoch and k.counted and not ${wasLost(s)}
       order by k.epoch desc limit least(${x}.crashes, ${NAMED_HOLDERS}) - 1)
      union all
      select ${x}.epoch, ${x}.owner
    ) h)`;

/** The last journal entry of a run that ended: `x` has run_id, epoch, verdict, owner and crashes. */
export const reason = ({ schema: s }: Dialect, x: string) => `case verdict when 'failed' then ${orphaned()}
    else '{"code":"CRASH_LIMIT","crashes":' || crashes || ',"holders":[' || ${holders(s, x)} || ']}' end`;

/**
 * How often it was restarted since it was started or retried: progress sets crashes back, and one that kills its process in its
 * second step makes some every time. Without the holders that were cut off. (Tasks are counted elsewhere, and resume.)
 */
const restarts = (s: string) => `(
        select count(*)::int from (
          select k.owner, k.at from ${s}.reclaimed_claims k where k.run_id = x.id and k.outcome = 'restarted'
          order by k.epoch desc limit (
            select count(*) from ${s}.journal k
            where k.run_id = x.id and k.kind = 'start' and k.seq > coalesce((
              select max(m.seq) from ${s}.journal m
              where m.run_id = x.id and (m.kind = 'retried' or (m.kind = 'start' and m.name <> 'recovery'))), 0))) k
        where not ${wasLost(s)})`;

/**
 * Whether the process that held `x` held other runs, too: they are still running, or were reclaimed a moment ago, by the previous
 * page or because their leases expired first. One of them may have killed the process.
 */
const beside = (s: string) => `coalesce((
      select (select true from ${s}.runs o where o.state = 'running' and o.owner = x.owner and o.id <> x.id limit 1)
        or (select true from ${s}.reclaimed_claims k
          where k.owner = x.owner and k.run_id <> x.id and k.at > t.now - ${interval(String(SAME_CRASH_MS))} limit 1)
      from ${s}.nodes n where n.incarnation = x.owner and n.lease_ms is not null limit 1), false)`;

/** Its crashes are too many, and were its own as far as can be known. */
const tooMany = (s: string) => `(x.worst >= x.crash_limit
      and (x.crash_limit = 1 or x.worst >= ${NOT_ALONE_FACTOR} * x.crash_limit or not ${beside(s)}))`;

/** Claims that ended in a crash. Two laterals of row `x`: how often, and how many live holders in a row have lost it. */
const counted = (s: string) => `
  cross join lateral (
    select array(
      select k.epoch from (
        select * from ${s}.reclaimed_claims k where k.run_id = x.id and k.counted and k.epoch < x.epoch
        order by k.epoch desc limit greatest(x.crashes - 1, 0)) k
      where ${wasLost(s)}) as forgiven
  ) c
  cross join lateral (select x.crashes - cardinality(c.forgiven) as died) d
  left join lateral (
    select least(k.losses + 1, ${MOST_LOSSES}) as losses from ${s}.reclaimed_claims k
    where k.run_id = x.id and k.epoch = x.epoch - 1 and x.crashes > 0 and ${wasLost(s)}
  ) l on true`;

/** As in `delayAfterLosses`, of row `e`. */
const DELAY = "least(2 ^ (e.losses - 1), 30) * interval '1 second'";

/**
 * CTEs from `expired` (rows that are locked: EXPIRED, policy, and whether their owner is gone) to `reclaimed`, `notified` and
 * `ending_tasks`. `still` is asked again of each row (`r`) by the UPDATE itself. A run whose holders died as often as its limit
 * allows is dead; a holder that gave a sign of life since it lost the run was cut off, and that reclaim no longer counts. Those that another node
 * may take keep available_at, so that recovered work stays at the front of its queue, unless live holders lose them again and
 * again. What a run that is restarted had received is unread again; one whose tasks are under way resumes. The journal is
 * read only where a program asks for more than to resume. A task that is to end is left out and named in `ending_tasks`: its
 * end is counted in rows that must be locked first (reclaimed.ts). `by`: the node that reclaims, as SQL.
 */
export function reclaimParts(d: Dialect, still: string, by: string): string {
  const { schema: s } = d;
  return `judged as materialized (
  select x.id, x.epoch, x.owner, x.lease_until, x.base_seq, x.counts, x.gone, x.forgiven, x.losses, x.verdict,
    x.crashes > 0 or x.verdict = 'restarted' as counted,
    case when x.verdict in ('restarted', 'dead') then x.worst else x.died end as crashes
  from (
    select x.*, case
      when x.policy = 'fail' and x.begun then 'failed'
      when ${tooMany(s)} then 'dead'
      when x.pausing then 'paused'
      when x.policy = 'restart' and x.begun and x.pending = 0 then 'restarted'
      else 'waiting' end as verdict
    from (
      select x.*, j.begun, c.forgiven, d.died, greatest(d.died, j.restarts + 1) as worst, coalesce(l.losses, 0) as losses
      from expired x left join lateral (
        select (${GATHERS}) is not true as begun,
          case when x.policy = 'restart' and not x.counts and x.pending = 0 then ${restarts(s)} end as restarts
        from ${s}.journal j
        where x.policy in ('fail', 'restart') and j.run_id = x.id and j.seq = x.base_seq + 1 limit 1
      ) j on true${counted(s)}
    ) x, t
  ) x
), ending_tasks as (select id, epoch, gone, verdict, crashes from judged where counts and verdict ${ENDS}
), ${stuckParts(d, `select id from judged where verdict ${ENDS}`, "select id from judged where verdict not in ('waiting', 'paused')")}
, taken as materialized (select * from judged where not (counts and verdict ${ENDS}) and not ${isStuck("id")}
), reclaimed as (
  update ${s}.runs r
  set state = case when e.verdict in ('restarted', 'paused') then 'waiting' else e.verdict end,
      seq = r.seq + (e.verdict not in ('waiting', 'paused'))::int,
      generation = r.generation + (e.verdict = 'restarted')::int,
      base_seq = case e.verdict when 'restarted' then r.seq else r.base_seq end,
      failures = case e.verdict when 'restarted' then 0 else r.failures end,
      crashes = e.crashes,
      available_at = case when e.losses > 0 then t.now + ${DELAY} else r.available_at end,
      ended_at = case when e.verdict ${ENDS} then t.now end,
      token = null, owner = null, lease_until = null
  from unnest(array(select id from taken), array(select owner from taken), array(select lease_until from taken),
      array(select base_seq from taken), array(select verdict from taken), array(select crashes from taken),
      array(select counted from taken), array(select losses from taken))
    as e(id, owner, lease_until, base_seq, verdict, crashes, counted, losses), t
  where r.id = e.id and r.token is not null and ${still}
  returning r.id as run_id, r.claim_group, r.state, r.seq, r.crashes, r.parent_id, r.epoch, e.owner, e.lease_until,
    e.base_seq, e.verdict, e.counted, e.losses
), ended as (select run_id, parent_id, state, false as counted from reclaimed where verdict ${ENDS}
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, case verdict when 'restarted' then 'start' else verdict end,
    case verdict when 'restarted' then 'recovery' else '' end,
    case verdict when 'restarted' then j.codec else 'json' end,
    case verdict when 'restarted' then j.data else ${reason(d, "reclaimed")} end, t.now
  from reclaimed cross join t left join lateral (
    select codec, data from ${s}.journal j
    where verdict = 'restarted' and j.run_id = reclaimed.run_id and j.seq = reclaimed.base_seq + 1 limit 1
  ) j on true
  where verdict not in ('waiting', 'paused')
), forgiven as (
  update ${s}.reclaimed_claims k set counted = false
  from (select id, unnest(forgiven) as epoch from taken where forgiven <> '{}') e
  where k.run_id = e.id and k.epoch = e.epoch and k.run_id = any(array(select id from taken where forgiven <> '{}'))
), ${noteReclaimed(d, "reclaimed", by)}, reopened as (
  update ${s}.inbox i set taken_seq = null
  where i.run_id = any(array(select run_id from reclaimed where verdict = 'restarted'))
    and i.taken_seq > (select base_seq from reclaimed where run_id = i.run_id)
), ${endNotices(d)}`;
}

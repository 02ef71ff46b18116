// What becomes of an orphan, as SQL: shared by the sweep, which goes by what programs declared, and by whoever decides on each.

import { orphanedError } from "../../kernel/recovery.js";
import type { Dialect } from "./dialect.js";
import { endNotices } from "./end-notices.js";
import { isStuck, stuckParts } from "./locked-beside.js";

/** Of the rows in `expired`. */
export const EXPIRED =
  "r.id, r.epoch, r.owner, r.lease_until, r.base_seq, r.crashes, r.crash_limit, r.counts, r.pausing, r.pending";

/** A run that gathers events has not begun: whatever its program says, another node goes on with it. */
const GATHERS = "j.key like 'debounce %'";
const ENDS = "in ('dead', 'failed')";

const OWNER = "00000000-0000-0000-0000-000000000000";
/** The error that `orphanedError` makes, with the owner of each row put in. */
const orphaned = () => {
  const [before, after] = JSON.stringify(orphanedError(OWNER)).split(OWNER);
  return `'${before}' || owner || '${after}'`;
};
/**
 * A CTE that notes from whom a claim was taken, in the statement that takes it: `from` has the columns run_id, epoch, owner and
 * verdict. A claim is taken once; a note that is there already must not stop a sweep.
 */
export const noteTaken = ({ schema: s }: Dialect, from: string, by: string) => `noted as (
  insert into ${s}.taken_claims (run_id, epoch, owner, by, outcome, at)
  select run_id, epoch, owner, ${by}, verdict, t.now from ${from}, t
  on conflict do nothing
)`;

/** What stands last in the journal of one that ended, given its columns verdict, owner and crashes. */
export const reason = () =>
  `case verdict when 'failed' then ${orphaned()} else '{"code":"CRASH_LIMIT","crashes":' || crashes || '}' end`;

/**
 * How often it has begun anew since somebody began it: progress sets crashes back, and one that kills its process in its
 * second step makes some every time. (Tasks are counted on elsewhere, and go on.)
 */
const restarts = (s: string) => `(
        select count(*) from ${s}.journal k
        where k.run_id = x.id and k.kind = 'start' and k.seq > coalesce((
          select max(m.seq) from ${s}.journal m
          where m.run_id = x.id and (m.kind = 'redriven' or (m.kind = 'start' and m.name <> 'recovery'))), 0))`;

/**
 * CTEs from `expired` (rows that are locked: EXPIRED, policy, and whether their owner is gone) to `swept`, `told` and
 * `doomed`. `still` is asked again of each row (`r`) by the UPDATE itself. A run whose claims ended in a crash as often as
 * its limit allows is dead. Those that another node may take keep available_at: recovered work stands at the front of its
 * queue. What a run that begins anew had been told is unread again; one whose tasks are under way goes on. The journal is
 * looked at only where a program asks for more than to go on. A task that is to end is left out and named in `doomed`: its
 * end is counted in rows that must be locked first (reclaimed.ts). `by`: the node that sweeps, as SQL.
 */
export function takeBackParts(d: Dialect, still: string, by: string): string {
  const { schema: s } = d;
  return `judged as materialized (
  select x.*, case
    when x.policy = 'fail' and j.begun then 'failed'
    when x.crashes >= x.crash_limit or j.restarts + 1 >= x.crash_limit then 'dead'
    when x.pausing then 'paused'
    when x.policy = 'restart' and j.begun and x.pending = 0 then 'restarted'
    else 'waiting' end as verdict
  from expired x left join lateral (
    select (${GATHERS}) is not true as begun,
      case when x.policy = 'restart' and not x.counts and x.pending = 0 then ${restarts(s)} end as restarts
    from ${s}.journal j
    where x.policy in ('fail', 'restart') and j.run_id = x.id and j.seq = x.base_seq + 1 limit 1
  ) j on true
), doomed as (select id, epoch, gone, verdict from judged where counts and verdict ${ENDS}
), ${stuckParts(d, `select id from judged where verdict ${ENDS}`, "select id from judged where verdict not in ('waiting', 'paused')")}
, taken as materialized (select * from judged where not (counts and verdict ${ENDS}) and not ${isStuck("id")}
), swept as (
  update ${s}.runs r
  set state = case when e.verdict in ('restarted', 'paused') then 'waiting' else e.verdict end,
      seq = r.seq + (e.verdict not in ('waiting', 'paused'))::int,
      generation = r.generation + (e.verdict = 'restarted')::int,
      base_seq = case e.verdict when 'restarted' then r.seq else r.base_seq end,
      failures = case e.verdict when 'restarted' then 0 else r.failures end,
      ended_at = case when e.verdict ${ENDS} then t.now end,
      token = null, owner = null, lease_until = null
  from unnest(array(select id from taken), array(select owner from taken), array(select lease_until from taken),
      array(select base_seq from taken), array(select verdict from taken))
    as e(id, owner, lease_until, base_seq, verdict), t
  where r.id = e.id and r.token is not null and ${still}
  returning r.id as run_id, r.claim_group, r.state, r.seq, r.crashes, r.parent_id, r.epoch, e.owner, e.lease_until,
    e.base_seq, e.verdict
), ended as (select run_id, parent_id, state, false as counted from swept where verdict ${ENDS}
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, case verdict when 'restarted' then 'start' else verdict end,
    case verdict when 'restarted' then 'recovery' else '' end,
    case verdict when 'restarted' then j.codec else 'json' end,
    case verdict when 'restarted' then j.data else ${reason()} end, t.now
  from swept cross join t left join lateral (
    select codec, data from ${s}.journal j
    where verdict = 'restarted' and j.run_id = swept.run_id and j.seq = swept.base_seq + 1 limit 1
  ) j on true
  where verdict not in ('waiting', 'paused')
), ${noteTaken(d, "swept", by)}, reopened as (
  update ${s}.inbox i set taken_seq = null
  where i.run_id = any(array(select run_id from swept where verdict = 'restarted'))
    and i.taken_seq > (select base_seq from swept where run_id = i.run_id)
), ${endNotices(d)}`;
}

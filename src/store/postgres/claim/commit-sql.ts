// The fenced commit as SQL. The order of its parts makes it safe: the fence is the UPDATE's own predicate, and everything
// else is written only for the fence rows that UPDATE returned.
//
// Its parts in order (whole, in all four variants: statements.snapshot.sql, commit_runs … commit_tasks_and_more):
//   t                             the time, once
//   waiters, turn                 count-down.ts, where a task ends: the rows that wait for it, locked first
//   f (l)                         the fences with their locked rows; misfit-sql.ts adds who else may fit
//   ok                            the UPDATE of the runs, with the fence in its predicate
//   written                       journal entries of the accepted commits
//   ended, closed, notified       end-notices.ts: messages of runs that ended, and to their parents
//   fed, up                       count-down.ts, where a task ends: counts it in the rows that wait for it
//   taken … misfits               `others`: messages, children, their needs and limits, messages to read again
//   SELECT                        `answer`: one row per accepted commit, per parent to wake, per task that became ready

import { type Dialect, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { type HasColumns, oneOf } from "../connection/rowset.js";
import { leaveWake } from "../connection/wake-sender.js";
import { LIMITS } from "../limit/limit-columns.js";
import { endNotices } from "../run/end-notices.js";
import { noteMisfits, withMisfits } from "../run/misfit-sql.js";
import { countDown, isWaiter, TURN, takeTurn } from "../task/count-down.js";
import { CHILDREN, CLAIMS, ENTRIES, FENCES, FENCES_AND_MORE, NEEDS, REOPENED, TASK_NEEDS } from "./commit-columns.js";

/** The parameters of a commit that writes its run's own row and journal only. */
const own = (() => {
  const fence = FENCES.from(1);
  return { fence, entries: ENTRIES.from(fence.next) };
})();

/** The parameters of a commit that may write other rows, too. */
const all = (() => {
  const fence = FENCES_AND_MORE.from(1);
  const entries = ENTRIES.from(fence.next);
  const needs = NEEDS.from(entries.next);
  const children = CHILDREN.from(needs.next);
  const limits = LIMITS.from(children.next);
  const reopened = REOPENED.from(limits.next);
  return { fence, entries, needs, children, limits, reopened, taskNeeds: TASK_NEEDS.from(reopened.next) };
})();

/** The parameters of the query that finds why commits were refused. */
const refused = (() => {
  const fence = CLAIMS.from(1);
  const needs = NEEDS.from(fence.next);
  return { fence, needs, entries: ENTRIES.from(needs.next) };
})();

type Needs = ReturnType<typeof NEEDS.from>;
type Fence = HasColumns<"run_id" | "epoch" | "token" | "seq">;

/**
 * Rows (ord, i) of the effects that cannot be carried out: the message does not exist or was taken, or the child's id
 * belongs to another run, or a task's id is taken (it would be counted twice). The message is looked up by its key alone:
 * asked for unread ones, a planner without statistics read all of the run's for each (10,000 took 9.4 s).
 */
function unfit({ schema: s }: Dialect, { fence, needs }: { readonly fence: Fence; readonly needs: Needs }): string {
  const runId = fence.at("run_id", "k.ord");
  return `
  select k.ord, k.i from ${needs.as("k")}
  left join lateral (
    select i.taken_seq is null and i.message_id = coalesce(k.message, i.message_id) as open
    from ${s}.inbox i where i.run_id = ${runId} and i.key = k.key limit 1
  ) m on true
  left join lateral (
    select k.counts or r.parent_id is distinct from ${runId} as other from ${s}.runs r where r.id = k.child limit 1
  ) c on true
  where (k.key is not null and m.open is not true) or c.other`;
}

/**
 * Rows locked by others are skipped (busy), never waited for. State is not part of the fence: the token is NULL unless
 * running, and with a partial index the state made the planner join n² rows (5.9k instead of 36.6k jobs/s).
 * Entries belong to the very fence row they came with (`ord`): matched on the run's id alone, a late row of an old claim
 * in the same flush as a live one was accepted.
 *
 * The end of a task is accepted only where it is counted (`counting`); there, a run that is counted down itself is left to
 * the next statement.
 */
function fenced(d: Dialect, { more, counting }: Variant): string {
  const { schema: s, now } = d;
  const { fence, entries } = more ? all : own;
  const pending = more ? "r.pending + f.new_tasks" : "r.pending";
  const noneLeft = more ? ` or f.for_tasks and ${pending} = 0` : "";
  const wakesAtOnce = `f.to_state = 'parked' and (r.inbox_seq > f.seen_inbox_seq${noneLeft})`;
  const ending = `select run_id from ${fence.only("run_id").as("w", "ord")} where ${fence.at("ends", "w.ord")}`;
  const fits = more ? ` and not ${oneOf("f.ord", `select ord from (${unfit(d, all)}) unfit`)}` : "";
  // A requested pause is answered first.
  const shut = "(f.fits is false and not r.pausing)";
  return `
with t as materialized (select ${now} as now
), ${counting ? `${takeTurn(d, ending)}, ` : ""}${more ? "l" : "f"} as materialized (
  select f.*, r.counts, r.pausing${more ? ", r.misfits, r.owner, r.claim_group" : ""}
  from ${fence.as("f", "ord")}
  join ${s}.runs r on r.id = f.run_id
  ${counting ? `where ${TURN} and not ${isWaiter("f.run_id")}` : ""}
  for no key update of r skip locked
)${more ? `, f as materialized (${withMisfits(d)})` : ""}, ok as (
  update ${s}.runs r
  set seq = f.seq + f.n,
      ${more ? `pending = ${pending}, misfits = coalesce(f.tried, r.misfits),` : ""}
      ${counting ? "counts = r.counts and not f.ends," : ""}
      state = case when f.to_state is null then r.state when ${wakesAtOnce} then 'waiting'
                   ${more ? `when ${shut} then 'quarantined'` : ""} else f.to_state end,
      token = case when f.to_state is null then r.token end,
      owner = case when f.to_state is null then r.owner end,
      lease_until = case when f.to_state is null then r.lease_until end,
      available_at = case when f.failed then t.now + ${interval("f.delay_ms")} when ${wakesAtOnce} then t.now
                          else r.available_at end,
      wake_at = case when f.to_state = 'parked' and not (${wakesAtOnce}) then t.now + ${interval("f.delay_ms")} end,
      wake_after = case when f.to_state = 'parked' then f.wake_after else r.wake_after end,
      failures = case when f.continues then 0 else r.failures + f.failed::int end,
      generation = r.generation + f.continues::int,
      base_seq = case when f.continues then f.seq + f.n - 1 else r.base_seq end,
      crashes = case when f.failed or (f.to_state = 'waiting' and not f.continues and f.n = 1)${more ? " or f.build is not null" : ""}
                     then greatest(r.crashes - 1, 0) else 0 end,
      ended_at = case when f.ends or f.to_state = 'quarantined'${more ? ` or ${shut}` : ""} then t.now end
  from f, t
  where r.id = f.run_id and r.epoch = f.epoch and r.token = f.token and r.seq = f.seq
    ${counting ? "" : "and not (f.ends and r.counts)"}${fits}
  returning f.ord, f.run_id, f.seq + f.n as seq, f.ends, f.counts as counted, r.state, r.inbox_seq, r.parent_id,
    case when r.state = 'waiting' then r.claim_group end as ready
), written as (
  insert into ${s}.journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select ${fence.at("run_id", "e.ord")}, ${fence.at("seq", "e.ord")} + e.i, ${fence.at("epoch", "e.ord")}, ${fence.at("token", "e.ord")},
    e.kind, e.name, e.key, e.codec, e.data, t.now
  from ${entries.as("e")}, t
  where ${oneOf("e.ord", "select ord from ok")}
), ended as (select run_id, parent_id, state, counted from ok where ends
), ${endNotices(d)}${counting ? `, ${countDown(d)}` : ""}`;
}

/** `more`: a commit takes messages, starts children, continues as a new generation or waits for tasks. `counting`: a task ends. */
interface Variant {
  readonly more: boolean;
  readonly counting: boolean;
}

/** The last row, of a statement that may make work for others, has no result: it leaves whom to wake. */
const answer = ({ more, counting }: Variant) => `
select ok.ord::int, ok.seq, ok.inbox_seq, ok.ready, null::uuid as notified, null::uuid as held from ok
union all
select null, null, null, null, run_id, null from notified${
  counting
    ? `
union all
select null, null, null, case when state = 'waiting' then claim_group end, null, case when state = 'held' then id end from up
where state in ('waiting', 'held')`
    : ""
}${
  more || counting
    ? `
union all
select null, null, null, null, null, null from (select ${leaveWake(madeReady({ more, counting }))} as hint offset 0) x
where hint is not null`
    : ""
}`;

/** The groups in which other nodes find something to claim now. */
function madeReady({ more, counting }: Variant): string {
  const parts = ["select ready from ok where ready is not null"];
  if (counting) parts.push("select claim_group from up where state = 'waiting'");
  if (more) parts.push("select claim_group from children where state = 'waiting'");
  return parts.join(" union all ");
}

/**
 * A child that is there already is a child of this run, started before. Another run with its id, inserted since this statement
 * began, fails the statement. Needs and limits belong to the fence row they came with, too: matched on the child's id alone, a
 * refused commit left its own on a child that another one of the batch started under the same id.
 */
const others = (d: Dialect) => {
  const { schema: s } = d;
  const { fence, needs, children, limits, reopened, taskNeeds } = all;
  const childId = children.at("id", "l.run");
  return `
, taken as (
  update ${s}.inbox i set taken_seq = ${fence.at("seq", "k.ord")} + k.i
  from ${needs.as("k")}
  where i.run_id = ${fence.at("run_id", "k.ord")} and i.key = k.key and ${oneOf("k.ord", "select ord from ok")}
  returning i.run_id, i.taken_seq, k.ord, i.name, i.key, i.codec, i.data
), taken_in as (
  insert into ${s}.journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select k.run_id, k.taken_seq, ${fence.at("epoch", "k.ord")}, ${fence.at("token", "k.ord")}, 'take', k.name, k.key, k.codec, k.data, t.now
  from taken k, t
), c as materialized (
  select *
  from ${children.as("c")}
  where ${oneOf("c.ord", "select ord from ok")} and (select r.id from ${s}.runs r where r.id = c.id limit 1) is null
), children as (
  insert into ${s}.runs (id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited,
    pending, counts, recovery)
  select id, claim_group, priority,
    case when counts and ${oneOf("c.ord", "select ord from f where pausing")} then 'paused' when pending > 0 then 'blocked'
         when limited then 'held' else 'waiting' end,
    t.now + ${interval("delay_ms + position * 0.001")}, crash_limit, parent_id, t.now, limited, pending, counts,
    recovery
  from c, t
  returning id, state, claim_group
), needs as (
  insert into ${s}.run_needs (need_id, run_id)
  select n.need_id, n.run_id from ${taskNeeds.as("n")}
  where ${oneOf("n.ord", "select ord from ok")}
), children_limits as (
  insert into ${s}.run_limits (run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at)
  select ${childId}, l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case when l.stage = 1 and ${oneOf(childId, "select id from children where state = 'held'")} then 'waits' else 'later' end,
    case l.kind when 'serial' then 0 else ${children.at("priority", "l.run")} end,
    t.now + ${interval(`${children.at("delay_ms", "l.run")} + ${children.at("position", "l.run")} * 0.001`)}
  from ${limits.as("l")}, t
  where ${oneOf(children.at("ord", "l.run"), "select ord from ok")} and ${oneOf(childId, "select id from c")}
), children_start as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now from c, t
), reopened as (
  update ${s}.inbox i set taken_seq = null
  from ${reopened.as("k")}
  where i.run_id = ${fence.at("run_id", "k.ord")} and i.key = k.key and ${oneOf("k.ord", "select ord from ok")}
), ${noteMisfits(d, oneOf("f.ord", "select ord from ok"))}`;
};

const variant = (name: string, purpose: string, one: Variant) =>
  statement(name, purpose, (d) => fenced(d, one) + (one.more ? others(d) : "") + answer(one));

export const commitRuns = variant("commit_runs", "Commits effects that write only their runs' own rows and journals.", {
  more: false,
  counting: false,
});
export const commitRunsAndMore = variant(
  "commit_runs_and_more",
  "Commits effects that also take messages, start children, continue as a new generation or report a misfit.",
  { more: true, counting: false },
);
export const commitTasks = variant(
  "commit_tasks",
  "Commits effects of which some end a task, and counts the ends in the runs that wait for them.",
  { more: false, counting: true },
);
export const commitTasksAndMore = variant(
  "commit_tasks_and_more",
  "Commits effects that end tasks, together with effects on other rows.",
  { more: true, counting: true },
);

/**
 * Why a commit was not accepted; asked for refused rows only. `recorded` is this very commit and no other: all of its
 * entries are in the journal, under the same claim. (Judged by the first one's claim alone, the second of two
 * different commits at one sequence was reported as written.)
 */
export const refusedCommits = statement("refused_commits", "Finds out why commits were not accepted.", (d) => {
  const { schema: s } = d;
  const { fence, needs, entries } = refused;
  return `
with e as materialized (
  select * from ${entries.as("e")}
  union all
  select ord, i, 'take', null, key, null, null from ${needs.as("k")} where key is not null
), written as materialized (
  select e.ord, count(*) as n
  from e
  cross join lateral (
    select from ${s}.journal j
    where j.run_id = ${fence.at("run_id", "e.ord")} and j.seq = ${fence.at("seq", "e.ord")} + e.i
      and j.epoch = ${fence.at("epoch", "e.ord")} and j.token = ${fence.at("token", "e.ord")}
      and j.kind = e.kind and j.key is not distinct from e.key
      and (e.name is null or (j.name = e.name and j.codec is not distinct from e.codec and j.data is not distinct from e.data))
    limit 1
  ) j
  group by 1
), unfit as materialized (
  select jsonb_object_agg(ord, i) as by_ord from (select ord, array[min(i)] as i from (${unfit(d, refused)}) u group by 1) u
)
select
  case
    when ${oneOf("w.ord", `select ord from written where n = ${fence.at("n", "ord")}`)} then 'recorded'
    when r.epoch = w.epoch and r.token = w.token then 'held'
    else 'lost'
  end as reason,
  r.seq,
  coalesce((select by_ord -> w.ord::text from unfit), '[]') as bad_takes
from ${fence.as("w", "ord")}
left join lateral (select * from ${s}.runs r where r.id = w.run_id limit 1) r on true
order by w.ord`;
});

// What a commit writes outside its run's own row and journal: messages it takes, children it starts, messages to read again.

import type { Dialect } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { type HasColumns, oneOf } from "../connection/rowset.js";
import { LIMITS } from "../limit/limit-columns.js";
import { noteMisfits } from "../run/misfit-sql.js";
import { CHILDREN, ENTRIES, FENCES_AND_MORE, NEEDS, REOPENED, TASK_NEEDS } from "./commit-columns.js";

/** The parameters of a commit that may write other rows, too. */
export const allParameters = (() => {
  const fence = FENCES_AND_MORE.from(1);
  const entries = ENTRIES.from(fence.next);
  const needs = NEEDS.from(entries.next);
  const children = CHILDREN.from(needs.next);
  const limits = LIMITS.from(children.next);
  const reopened = REOPENED.from(limits.next);
  return { fence, entries, needs, children, limits, reopened, taskNeeds: TASK_NEEDS.from(reopened.next) };
})();

type Needs = ReturnType<typeof NEEDS.from>;
type Fence = HasColumns<"run_id" | "epoch" | "token" | "seq">;

/**
 * Rows (ord, i) of the effects that cannot be carried out: the message does not exist or was taken, or the child's id
 * belongs to another run, or a task's id is taken (it would be counted twice). The message is looked up by its key alone:
 * asked for unread ones, a planner without statistics read all of the run's for each (10,000 took 9.4 s).
 */
export function unfit(
  { schema: s }: Dialect,
  { fence, needs }: { readonly fence: Fence; readonly needs: Needs },
): string {
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
 * A child that is there already is a child of this run, started before. Another run with its id, inserted since this statement
 * began, fails the statement. Needs and limits belong to the fence row they came with, too: matched on the child's id alone, a
 * refused commit left its own on a child that another one of the batch started under the same id.
 */
export const others = (d: Dialect) => {
  const { schema: s } = d;
  const { fence, needs, children, limits, reopened, taskNeeds } = allParameters;
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

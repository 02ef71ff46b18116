// Commits effects under a fence: many runs in one statement, each accepted or refused alone.
//
// The order of the statement's parts makes it safe: the fence is the UPDATE's own predicate, and everything else is written
// only for the fence rows that UPDATE returned.
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

import { ends, writesElsewhere } from "../../../kernel/run/effect.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Commit, CommitAnswer } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { oneOf } from "../connection/rowset.js";
import { leaveWake, wakeBehind } from "../connection/wake-sender.js";
import { wakeRuns } from "../inbox/wake-runs.js";
import { admitAfter } from "../limit/admit-runs.js";
import { endNotices } from "../run/end-notices.js";
import type { Groups } from "../run/groups.js";
import { withMisfits } from "../run/misfit-sql.js";
import { countDown, isWaiter, TURN, takeTurn } from "../task/count-down.js";
import { acceptedOf, type CommitRow, numbers } from "./commit-answers.js";
import { commitAndMoreColumns, commitColumns, ENTRIES, FENCES, isQuestion } from "./commit-columns.js";
import { commitOneEntry } from "./commit-entry.js";
import { allParameters, others, unfit } from "./commit-others-sql.js";
import { whyRefused } from "./refused-commits.js";

/** The parameters of a commit that writes its run's own row and journal only. */
const ownParameters = (() => {
  const fence = FENCES.from(1);
  return { fence, entries: ENTRIES.from(fence.next) };
})();

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
  const { fence, entries } = more ? allParameters : ownParameters;
  const pending = more ? "r.pending + f.new_tasks" : "r.pending";
  const noneLeft = more ? ` or f.for_tasks and ${pending} = 0` : "";
  const wakesAtOnce = `f.to_state = 'parked' and (r.inbox_seq > f.seen_inbox_seq${noneLeft})`;
  const ending = `select run_id from ${fence.only("run_id").as("w", "ord")} where ${fence.at("ends", "w.ord")}`;
  const fits = more ? ` and not ${oneOf("f.ord", `select ord from (${unfit(d, allParameters)}) unfit`)}` : "";
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
      ${more ? `pending = ${pending}, misfits = coalesce(f.tried, r.misfits), asks = r.asks or f.asks,` : ""}
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
  returning f.ord, f.run_id, f.ends, f.counts as counted, r.state, r.inbox_seq, r.parent_id,
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

/**
 * `more`: a commit takes messages, starts children, asks for an approval, continues as a new generation or waits for tasks.
 * `counting`: a task ends.
 */
interface Variant {
  readonly more: boolean;
  readonly counting: boolean;
}

/**
 * All accepted commits are one row, which is parsed once.
 * The last row, of a statement that may make work for others, has no result: it leaves whom to wake.
 */
const answer = ({ more, counting }: Variant) => `
select string_agg(ok.ord::text, ',') as accepted, string_agg(ok.inbox_seq::text, ',') as inbox_seqs,
  string_agg(ok.ready::text, ',') as ready, null::uuid as notified, null::uuid as held from ok
union all
select null, null, null, run_id, null from notified${
  counting
    ? `
union all
select null, null, case when state = 'waiting' then claim_group::text end, null, case when state = 'held' then id end from up
where state in ('waiting', 'held')`
    : ""
}${
  more || counting
    ? `
union all
select null, null, null, null, null from (select ${leaveWake(madeReady({ more, counting }))} as hint offset 0) x
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

/** Whether a task ends with it, as far as its claim says. */
function endsTask({ claim, effects }: Commit): boolean {
  return claim.counts === true && ends(effects.at(-1)!);
}

/**
 * What was busy is sent once more at once: the end of a task whose claim did not say that it is one, or a run whose own tasks
 * ended in the same batch.
 */
export async function commit(
  db: Database,
  groups: Groups,
  commits: readonly Commit[],
): Promise<readonly CommitAnswer[]> {
  const alone = await commitOneEntry(db, commits);
  if (alone) return alone;
  const answers = await sendOnce(db, groups, commits, commits.some(endsTask));
  const busy = commits.filter((_, i) => answers[i]!.outcome === "busy");
  if (busy.length === 0) return answers;
  const again = await sendOnce(
    db,
    groups,
    busy,
    busy.some(({ effects }) => ends(effects.at(-1)!)),
  );
  return commits.map((commit, i) => again[busy.indexOf(commit)] ?? answers[i]!);
}

const STATEMENTS = { plain: [commitRuns, commitRunsAndMore], counting: [commitTasks, commitTasksAndMore] } as const;

async function sendOnce(
  db: Database,
  groups: Groups,
  commits: readonly Commit[],
  counting: boolean,
): Promise<readonly CommitAnswer[]> {
  const more = commits.some((c) => c.effects.some((effect) => writesElsewhere(effect) || isQuestion(effect)));
  const values = more ? () => commitAndMoreColumns(groups, commits) : async () => commitColumns(commits);
  const behind = more || counting ? wakeBehind(db) : null;
  const rows = await db.run<CommitRow>(STATEMENTS[counting ? "counting" : "plain"][more ? 1 : 0], values, { behind });

  const answers = acceptedOf(commits, rows);
  const parents = rows.flatMap(({ notified }) => notified ?? []);
  if (parents.length > 0) await wakeRuns(db, parents);
  await admitAfter(
    db,
    rows.flatMap(({ held }) => held ?? []),
  );
  if (!behind) {
    const children = more ? await groups.ids(childrenOf(commits.filter((_, i) => answers[i]))) : [];
    db.onWork([...rows.flatMap(({ ready }) => numbers(ready)), ...children]);
  }
  const refused = commits.filter((_, i) => !answers[i]);
  if (refused.length === 0) return answers as CommitAnswer[];
  const reasons = await whyRefused(db, refused);
  let next = 0;
  return answers.map((answer) => answer ?? reasons[next++]!);
}

/** Where the children of these commits wait. */
function childrenOf(commits: readonly Commit[]): RunGroup[] {
  return commits.flatMap(({ effects }) =>
    effects.flatMap((effect) => (effect.kind === "enqueue" && !effect.task?.needs.length ? effect.run.group : [])),
  );
}

/** One commit of entries only, in a transaction that commits or rolls back with its answer. */
export async function sendIn(db: Database, commit: Commit, tx: Transaction): Promise<CommitAnswer> {
  const [accepted] = acceptedOf([commit], await db.run<CommitRow>(commitRuns, commitColumns([commit]), { tx }));
  return accepted ?? (await whyRefused(db, [commit], tx))[0]!;
}

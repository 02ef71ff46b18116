// Pauses a run with its tasks, and resumes them. Rows are locked in the order of their ids; a running run is
// marked, and becomes paused when its claim is released (answer_pause); its holder is asked to release it now.
// A run that wrote something between the statement's snapshot and its lock may have started tasks which the
// statement does not see (`moved`): it is repeated.

import { isEnded, type RunState } from "../../../kernel/run/run-state.js";
import type { PauseAnswer, ResumeAnswer } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { admitAfter } from "../limit/admit-runs.js";
import { taskTree } from "../task/task-tree.js";
import { ENDED } from "./ended-states.js";

/** CTEs: the tree of $1 (`tree`), its rows locked (`l`), and those that wrote something while the lock was awaited (`moved`). */
function lockedTree(d: Dialect): string {
  const { schema: s } = d;
  return `${taskTree(d, "select $1::uuid")}
, seen as materialized (select r.id, r.seq from ${s}.runs r where r.id = any(array(select id from tree))
), l as materialized (
  select r.id, r.state, r.pausing, r.seq from ${s}.runs r
  where r.id = any(array(select id from tree)) order by r.id for no key update
), moved as materialized (select l.id from l join seen on seen.id = l.id where l.seq <> seen.seq
), t as materialized (select ${d.now} as now
)`;
}

/** The message's key contains the next sequence of the inbox: a pause after a resume is another message. */
export const pauseRun = statement("pause_run", "Pauses a run and its tasks, or asks their holders to.", (d) => {
  const { schema: s } = d;
  return `
with recursive ${lockedTree(d)}
, p as (
  update ${s}.runs r
  set state = case when l.state = 'running' then r.state else 'paused' end, pausing = l.state = 'running', wake_at = null, ended_at = null,
      inbox_seq = r.inbox_seq + (l.state = 'running')::int, seq = r.seq + (l.id = $1 and l.state <> 'running')::int
  from l
  where r.id = l.id and l.state not in ${ENDED} and l.state <> 'paused' and not l.pausing
    and exists (select from l root where root.id = $1 and root.state not in ${ENDED})
  returning r.id, r.state, r.seq, r.inbox_seq, r.limited
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, at)
  select id, seq, 0, 'paused', $2, t.now from p, t where id = $1 and state = 'paused'
), asked as (
  insert into ${s}.inbox (run_id, key, message_id, kind, name, sender, at)
  select id, 'pause:' || inbox_seq, id, 'pause', 'pause', $2, t.now from p, t where state = 'running'
  returning run_id
)
select (select state from l where id = $1) as state, exists (select from l where state = 'running') as running,
  array(select id from p where limited and state = 'paused') as left_lines, array(select run_id from asked) as asked,
  exists (select from moved) as moved`;
});

/**
 * A task that still needs others is blocked again. One that has tasks of its own is handed out, looks at them, and waits
 * for the rest: whether it has some is known only when it has not moved.
 */
export const resumeRun = statement("resume_run", "Resumes a paused run and its tasks.", (d) => {
  const { schema: s } = d;
  return `
with recursive ${lockedTree(d)}
, p as (
  update ${s}.runs r
  set state = case when l.state = 'running' then r.state
                   when r.pending > 0 and l.id not in (select parent from tree where parent is not null) then 'blocked'
                   else 'waiting' end,
      pausing = false, seq = r.seq + (l.id = $1 and l.state <> 'running')::int,
      available_at = greatest(r.available_at, t.now + (n.ord - 1) * interval '1 microsecond')
  from unnest(array(select id from l order by id)) with ordinality as n(id, ord) join l on l.id = n.id, t
  where r.id = n.id and (l.state = 'paused' or l.pausing) and l.id not in (select id from moved)
  returning r.id, r.state, r.seq, r.claim_group
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, at)
  select id, seq, 0, 'resumed', $2, t.now from p, t where id = $1 and state <> 'running'
)
select (select state from l where id = $1) as state, exists (select from p) as resumed,
  array(select distinct claim_group from p where state = 'waiting') as ready,
  array(select id from p where state = 'held') as held, exists (select from moved) as moved`;
});

/** A holder that starts one task after the other can move a tree this often before the request itself stops it. */
const TRIES = 20;

/** Repeats the statement until it has seen every task that the runs it locked have started. */
async function onWholeTree<R extends { readonly moved: boolean }>(
  db: Database,
  ask: typeof pauseRun,
  values: readonly [runId: string, by: string],
): Promise<readonly R[]> {
  const rows: R[] = [];
  do rows.push(...(await db.run<R>(ask, values)));
  while (rows.at(-1)!.moved && rows.length < TRIES);
  return rows;
}

interface PauseRow {
  readonly state: RunState | null;
  readonly running: boolean;
  readonly left_lines: string[];
  readonly asked: string[];
  readonly moved: boolean;
}

async function pause(db: Database, runId: string, { by }: { readonly by: string }): Promise<PauseAnswer> {
  const rows = await onWholeTree<PauseRow>(db, pauseRun, [runId, by]);
  const { state, running } = rows.at(-1)!;
  db.onCalled(rows.flatMap(({ asked }) => asked));
  if (state === null) return { outcome: "unknown" };
  if (isEnded(state)) return { outcome: "ended", state };
  await admitAfter(
    db,
    rows.flatMap(({ left_lines }) => left_lines),
  );
  return { outcome: running ? "requested" : "paused" };
}

interface ResumeRow {
  readonly state: RunState | null;
  readonly resumed: boolean;
  readonly ready: number[];
  readonly held: string[];
  readonly moved: boolean;
}

async function resume(db: Database, runId: string, { by }: { readonly by: string }): Promise<ResumeAnswer> {
  const rows = await onWholeTree<ResumeRow>(db, resumeRun, [runId, by]);
  const { state } = rows.at(-1)!;
  if (state === null) return { outcome: "unknown" };
  db.onWork(rows.flatMap(({ ready }) => ready));
  await admitAfter(
    db,
    rows.flatMap(({ held }) => held),
  );
  return rows.some(({ resumed }) => resumed) ? { outcome: "resumed" } : { outcome: "not paused", state };
}

export const pauses = { pause, resume };

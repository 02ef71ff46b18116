// Cancels a run: at once when it is not running, otherwise by a message to its holder. A run with tasks ends when its
// tasks have: waiting ones are cancelled at once, running ones are asked to end.

import type { EndedState, RunState } from "../../../kernel/run/run-state.js";
import { isEnded } from "../../../kernel/run/run-state.js";
import { sleep } from "../../../kernel/world.js";
import type { CancelAnswer } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { wakeRuns } from "../inbox/wake-runs.js";
import { admitAfter } from "../limit/admit-runs.js";
import { announceReady, countDown, READY, type Ready, TURN, takeTurn } from "../task/count-down.js";
import { taskTree } from "../task/task-tree.js";
import { endNotices } from "./end-notices.js";
import { ENDED } from "./ended-states.js";
import { pauses } from "./pause-run.js";

const into = ({ schema: s }: Dialect) =>
  `insert into ${s}.inbox (run_id, key, message_id, kind, name, codec, data, sender, at)`;

/**
 * The locked row (`l`) decides, not the row in the statement's snapshot: a reclaim that committed while this statement waited for
 * the lock would hide the row from a predicate on `r.state`, and the cancel would be answered but not done.
 * A task is taken in its turn, without waiting for it: one that is locked is answered by no row.
 * A run that has begun, and whose code cleans up, is only asked: a node claims it and runs that code.
 */
function cancelOne(d: Dialect, task: boolean): string {
  const { schema: s, now } = d;
  return `
with ${task ? `${takeTurn(d, "select $1::uuid")}, ` : ""}l as materialized (
  select id, state, pending, counts, pausing, epoch > 0 and state <> 'quarantined' and (
    select cleans_up from ${s}.claim_groups g where g.id = claim_group) is true as cleans_up
  from ${s}.runs where id = $1${task ? ` and ${TURN}` : ""} for no key update${task ? " skip locked" : ""}
), t as materialized (select ${now} as now
), cancelled as (
  update ${s}.runs r set state = 'cancelled', seq = r.seq + 1, wake_at = null, ended_at = t.now, counts = false
  from l, t
  where r.id = l.id and l.state <> 'running' and l.state not in ${ENDED} and l.counts = ${task} and not l.cleans_up
    and not (l.pending > 0 and l.state <> 'blocked' and exists (
      select from ${s}.journal j where j.run_id = l.id and j.kind = 'task' and j.seq > r.base_seq))
  returning r.id as run_id, r.seq, r.parent_id, r.state, r.limited
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'cancelled', '', 'json', $3, t.now from cancelled, t
), requested as (
  ${into(d)}
  select id, 'cancel', id, 'cancel', 'cancel', 'json', $3, $2, t.now from l, t
  where l.state not in ${ENDED} and l.counts = ${task} and not exists (select from cancelled)
  on conflict do nothing
  returning run_id
), ended as (select run_id, parent_id, state, ${task} as counted from cancelled
), ${endNotices(d)}${task ? `, ${countDown(d)}` : ""}
select l.state, l.pending, l.counts, l.cleans_up and (l.pausing or l.state = 'paused') as paused, (select run_id from requested) as requested, (select run_id from notified) as notified,
  (select run_id from cancelled where limited) as left_line, exists (select from cancelled) as cancelled,
  ${task ? READY : "null::jsonb"} as ready
from l`;
}

export const cancelRun = statement("cancel_run", "Cancels a run, or asks its holder to.", (d) => cancelOne(d, false));
const cancelTask = statement("cancel_task", "Cancels a task, or asks its holder to.", (d) => cancelOne(d, true));

/**
 * All of a run's tasks and theirs, locked in the order of their ids. A task that needs one of them is among them, so only rows
 * that are not cancelled here are counted down: the run's own, and that of a task which runs and has tasks itself. One that
 * failed and was retried alone was counted when it failed: its parent gets a message instead. One that wrote something between
 * this statement's snapshot and its lock (`moved`) may have started tasks that are not in the tree: it is asked, as if it ran.
 */
export const cancelTasks = statement("cancel_tasks", "Cancels all tasks of a run, and theirs.", (d) => {
  const { schema: s, now } = d;
  return `
with recursive ${taskTree(d, "select $1::uuid")}
, seen as materialized (select r.id, r.seq from ${s}.runs r where r.id = any(array(select id from tree))
), l as materialized (
  select r.id, r.state, r.counts, r.seq from ${s}.runs r
  where r.id = any(array(select id from tree)) order by r.id for no key update
), moved as materialized (
  select l.id from l join seen on seen.id = l.id where l.seq <> seen.seq and l.state not in ${ENDED}
), t as materialized (select ${now} as now
), cancelled as (
  update ${s}.runs r set state = 'cancelled', seq = r.seq + 1, wake_at = null, ended_at = t.now, counts = false
  from l, t
  where r.id = l.id and l.id <> $1 and l.state <> 'running' and l.state not in ${ENDED}
    and l.id not in (select id from moved)
  returning r.id as run_id, r.seq, r.parent_id, r.state, r.limited, l.counts as counted
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select run_id, seq, 0, 'cancelled', '', 'json', $3, t.now from cancelled, t
), requested as (
  ${into(d)}
  select id, 'cancel', id, 'cancel', 'cancel', 'json', $3, $2, t.now from l, t
  where (l.state = 'running' or l.id in (select id from moved)) and l.id <> $1
  on conflict do nothing
  returning run_id
), ended as (select run_id, parent_id, state, counted from cancelled
), ${endNotices(d)}, ${countDown(d, "x.id not in (select run_id from cancelled)")}
select (
    select count(*)::int from l where (state = 'running' or id in (select id from moved)) and id <> $1
  ) as running, array(select run_id from requested) as requested, array(select run_id from notified) as notified,
  array(select run_id from cancelled where limited) as left_lines,
  ${READY} as ready`;
});

interface Row {
  state: RunState;
  pending: number;
  counts: boolean;
  /** It is paused, and has to clean up. */
  paused: boolean;
  requested: string | null;
  notified: string | null;
  /** It had limits: another run may take its place. */
  left_line: string | null;
  cancelled: boolean;
  ready: Ready;
}

interface TasksRow {
  running: number;
  requested: string[];
  notified: string[];
  left_lines: string[];
  ready: Ready;
}

/** The cancel of a task that is just being committed is tried again. */
const TRIES = 100;
const AGAIN_MS = 5;

interface Request {
  readonly by: string;
  readonly reason?: string;
}

/** The values of all three statements. */
function valuesOf(runId: string, { by, reason }: Request): readonly unknown[] {
  return [runId, by, JSON.stringify({ by, reason: reason ?? null })];
}

async function cancel(db: Database, runId: string, request: Request): Promise<CancelAnswer> {
  const values = valuesOf(runId, request);
  const row = await cancelIt(db, values);
  if (!row) return { outcome: "unknown" };
  if (isEnded(row.state) && row.state !== "cancelled")
    return { outcome: "ended", state: row.state satisfies EndedState };
  if (row.state === "cancelled" || row.cancelled) return { outcome: "cancelled" };
  if (row.paused) await pauses.resume(db, runId, request);
  if (row.pending === 0) return { outcome: "requested" };
  // It waits for its tasks. When none of them runs, it can be cancelled like any other.
  const running = await cancelTasksOf(db, runId, request);
  if (running > 0 || row.state === "running") return { outcome: "requested" };
  const after = await cancelIt(db, values);
  return after && (after.cancelled || after.state === "cancelled")
    ? { outcome: "cancelled" }
    : { outcome: "requested" };
}

async function cancelIt(db: Database, values: readonly unknown[]): Promise<Row | undefined> {
  let [row] = await db.run<Row>(cancelRun, values);
  for (let tries = 0; row?.counts && !isEnded(row.state) && tries < TRIES; tries++) {
    const [taken] = await db.run<Row>(cancelTask, values);
    if (taken) {
      row = taken;
      break;
    }
    await sleep(db.world, AGAIN_MS);
  }
  if (!row) return undefined;
  await announceReady(db, row.ready);
  const woken = row.requested ?? row.notified;
  if (row.requested) db.onCalled([row.requested]);
  if (woken) await wakeRuns(db, [woken]);
  if (row.left_line) await admitAfter(db, [row.left_line]);
  return row;
}

export async function cancelTasksOf(db: Database, runId: string, request: Request): Promise<number> {
  const [row] = await db.run<TasksRow>(cancelTasks, valuesOf(runId, request));
  const { running, requested, notified, left_lines, ready } = row!;
  await announceReady(db, ready);
  db.onCalled(requested);
  const woken = [...notified, ...requested];
  await wakeRuns(db, woken);
  await admitAfter(db, left_lines);
  return running;
}

export const cancels = { cancel, cancelTasks: cancelTasksOf };

// The checker: reads what is left in the database and in the effect log, and knows nothing of the engine.

import { checkKinds, type KindFindings } from "./check-kinds.js";
import type { Cluster } from "./cluster.js";
import type { Started } from "./load.js";
import { AT_MOST_ONCE, type LoggedMark, type Mark, TRIP } from "./programs.js";
import { GRACE_MS } from "./settings.js";

export interface Findings extends KindFindings {
  /** Grants of runs that had been taken from their holder. */
  readonly takeovers: number;
  /** Deadlocks (40P01) in the server's log. */
  readonly deadlocks: number;
  /** Journal entries whose epoch and token were not those of the run's row when they were accepted. */
  readonly staleWrites: number;
  /** Claims taken from a holder whose lease was not over and whose presence was there. */
  readonly stolenLiveLeases: number;
  /**
   * Claims taken from a process that was alive and renewed them, whatever became of its presence: the lease was not over, and the
   * holder had been heard of within the grace.
   */
  readonly robbedLiveNodes: number;
  /** Steps with two results, begun again after their result was recorded, or begun twice although at most once. */
  readonly doubledEffects: number;
  /** Steps that a process which was not frozen began after another had been granted its run. */
  readonly lateBegins: number;
  /** Acknowledged starts, and their children, that are not there or did not come to their right end. */
  readonly lostRuns: number;
  /** Of these, dead: others' crashes were counted against them. */
  readonly innocentDead: number;
  /** Of these, failed or quarantined: none of the programs fails, and all nodes have the newest code at the end. */
  readonly failedRuns: number;
  /** Steps without their effect, wrong results, gaps in a journal, wrong counts of tasks, gates passed that nobody opened. */
  readonly wrongRuns: number;
  /** Cancelled trips that did not undo exactly what they had done, the last first; trips that undid without a cancel. */
  readonly wrongSagas: number;
  readonly stuckRuns: number;
}

/** What the client was answered. */
export interface Answered {
  /** Starts: the run, and what it must return. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** Cancels: the run, and whether it can only end cancelled. */
  readonly cancelled: ReadonlyMap<string, boolean>;
}

const ENDED = "('completed', 'failed', 'cancelled', 'skipped', 'dead', 'quarantined')";

const STALE = `
select count(*)::int as n from holdfast.journal j
where j.token is not null and not exists (
  select from chaos.moves m
  where m.run_id = j.run_id and m.tx::xid = j.xmin and m.old_epoch = j.epoch and m.old_token = j.token)`;

const STOLEN = "select count(*)::int as n from chaos.moves where reclaimed and old_lease > at and owner_here";

const ROBBED = `
select old_owner as owner, extract(epoch from looked_at) * 1000 as at from chaos.moves
where reclaimed and old_lease > at and heard_at <= looked_at and heard_at > looked_at - $1 * interval '1 ms'`;
/** A statement takes a while: what it took a moment after the grace is no robbery. */
const GRACE_MARGIN_MS = 100;

const GRANTS = `
select run_id as "runId", new_epoch::int as epoch, (extract(epoch from at) * 1000)::float8 as at from chaos.moves
where new_state = 'running' and new_epoch > old_epoch`;

const TAKEOVERS = `
select count(*)::int as n from (
  select new_state, lag(reclaimed) over (partition by run_id order by n) as was_reclaimed from chaos.moves
) m where new_state = 'running' and was_reclaimed`;

const GAPS = `
select count(*)::int as n from holdfast.runs r
where r.seq <> (select count(*) from holdfast.journal j where j.run_id = r.id)
   or r.seq <> (select max(j.seq) from holdfast.journal j where j.run_id = r.id)`;

/** Not a step of the engine's own: those of machines have no effect in the log. */
const OURS = `not exists (
  select from holdfast.runs r join holdfast.claim_groups g on g.id = r.claim_group
  where r.id = j.run_id and g.program in ('light', 'light::effects', 'crossing'))`;

/** A recorded step whose effect was never committed: the step returned only after its own insert had. */
const WITHOUT_EFFECT = `
select count(*)::int as n from holdfast.journal j
where j.kind = 'step' and ${OURS} and not exists (
  select from chaos.effects e
  where e.run_id = j.run_id and e.step = j.name and e.epoch = (j.data::jsonb ->> 'epoch')::bigint
    and e.attempt = (j.data::jsonb ->> 'attempt')::int)`;

/** One step, one idempotency key, whoever made the attempt. */
const KEYS = `
select count(*)::int as n from (
  select from chaos.effects group by run_id, step, key having count(distinct idempotency_key) > 1) k`;

const ENDS = `
select r.id, r.state, r.parent_id, j.data from holdfast.runs r
left join holdfast.journal j on j.run_id = r.id and j.seq = r.seq`;

const RECORDED = `
select run_id as "runId", name as step, kind, key, epoch::int, data from holdfast.journal j
where kind in ('step', 'step.failed', 'node', 'item') and ${OURS}`;

/** A gate that was passed and that nobody had opened before. */
const UNOPENED = `
select count(*)::int as n from holdfast.journal j
where j.kind = 'node' and j.name = 'gate' and not exists (
  select from holdfast.journal t
  where t.run_id = j.run_id and t.kind = 'take' and t.key = 'wait:gate:' || j.key and t.data is not null and t.seq < j.seq)`;

const TRIPS = `
select r.id, r.state, coalesce(array_agg(j.name order by j.seq) filter (where j.kind = 'step'), '{}') as steps
from holdfast.runs r join holdfast.claim_groups g on g.id = r.claim_group join holdfast.journal j on j.run_id = r.id
where g.program = 'trip' group by 1, 2`;

/** Everything has ended: nobody waits for a task. */
const WAITING = "select count(*)::int as n from holdfast.runs where pending <> 0";

export async function openRuns(cluster: Cluster): Promise<number> {
  return number(cluster, `select count(*)::int as n from holdfast.runs where state not in ${ENDED}`);
}

/** A quarantined run may resume: a node with its code lifts the quarantine. */
export async function unfinishedRuns(cluster: Cluster): Promise<number> {
  const unfinished = `state not in ${ENDED} or state = 'quarantined'`;
  return number(cluster, `select count(*)::int as n from holdfast.runs where ${unfinished}`);
}

/** From processes that had ended when the statement looked nothing can be robbed. */
async function robbed(cluster: Cluster): Promise<number> {
  const rows = await cluster.database.query<{ owner: string; at: string }>(ROBBED, [GRACE_MS - GRACE_MARGIN_MS]);
  return rows.filter(({ owner, at }) => (cluster.endedAt.get(owner) ?? Number.POSITIVE_INFINITY) > Number(at)).length;
}

export async function check(cluster: Cluster, answered: Answered & Started): Promise<Findings> {
  const complaints = await cluster.database.complaints();
  const marks = await cluster.marks();
  const { wrongResults, ...ends } = await judgeEnds(cluster, answered);
  return {
    ...(await checkKinds(cluster, answered)),
    takeovers: await number(cluster, TAKEOVERS),
    deadlocks: complaints.get("deadlock detected") ?? 0,
    staleWrites: await number(cluster, STALE),
    stolenLiveLeases: await number(cluster, STOLEN),
    robbedLiveNodes: await robbed(cluster),
    doubledEffects: doubled(await cluster.database.query<Recorded>(RECORDED), marks),
    lateBegins: lateBegins(await cluster.database.query<Grant>(GRANTS), marks, cluster.pauses),
    ...ends,
    wrongRuns:
      wrongResults +
      (await number(cluster, GAPS)) +
      (await number(cluster, WAITING)) +
      (await number(cluster, UNOPENED)) +
      (await number(cluster, WITHOUT_EFFECT)) +
      (await number(cluster, KEYS)),
    wrongSagas: wrongSagas(await cluster.database.query<Trip>(TRIPS), answered.cancelled),
    stuckRuns: await openRuns(cluster),
  };
}

export interface Trip {
  readonly id: string;
  readonly state: string;
  /** The names of its recorded steps, in the order of the journal. */
  readonly steps: readonly string[];
}

/** A compensation is registered before its step: one more than what is recorded may be undone. */
export function wrongSagas(trips: readonly Trip[], cancelled: ReadonlyMap<string, boolean>): number {
  return trips.filter(({ id, state, steps }) => {
    const undone = steps.filter((step) => step.startsWith("undo "));
    if (state === "completed") return undone.length > 0 || cancelled.get(id) === true;
    const done = steps.filter((step) => TRIP.includes(step)).length;
    const isWhole = [done, done + 1].some((n) => {
      return (
        `${undone}` ===
        `${TRIP.slice(0, n)
          .reverse()
          .map((part) => `undo ${part}`)}`
      );
    });
    return state === "cancelled" && !isWhole;
  }).length;
}

async function judgeEnds(cluster: Cluster, { acknowledged, cancelled }: Answered) {
  const rows = await cluster.database.query<{ id: string; state: string; parent_id: string | null; data: string }>(
    ENDS,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const missing = [...acknowledged.keys()].filter((id) => !byId.has(id)).length;
  const ended = (...states: string[]) =>
    rows.filter(({ id, state, parent_id }) => {
      return (acknowledged.has(id) || parent_id !== null) && states.includes(state);
    }).length;
  const innocentDead = ended("dead");
  const failedRuns = ended("failed", "quarantined");
  const wrongResults = rows.filter(({ id, state, data }) => {
    const expected = acknowledged.get(id);
    return expected !== undefined && state === "completed" && data !== JSON.stringify(expected);
  }).length;
  const unasked = rows.filter(({ id, state }) => state === "cancelled" && !cancelled.has(id)).length;
  const lostRuns = missing + innocentDead + failedRuns + unasked + ended("skipped");
  return { lostRuns, innocentDead, failedRuns, wrongResults };
}

export interface Recorded {
  readonly runId: string;
  readonly step: string;
  readonly key: string;
  readonly kind: "step" | "step.failed" | "node" | "item";
  /** The claim under which the result was recorded. */
  readonly epoch: number;
  readonly data: string;
}

/**
 * By claims and attempts, not by times: a paused process writes its mark down late, and a black hole delivers late. Under
 * a later claim than the one that recorded the result, or as a later attempt of the same claim, a step must not begin.
 */
export function doubled(recorded: readonly Recorded[], marks: readonly Mark[]): number {
  const nameOf = ({ runId, step, key }: { runId: string; step: string; key: string }) => `${runId} ${step} ${key}`;
  const results = new Map<string, { epoch: number; attempt: number }>();
  let count = 0;
  for (const entry of recorded) {
    if (results.has(nameOf(entry))) count++;
    const value = JSON.parse(entry.data) as { attempt?: number; update?: { last?: { attempt?: number } } };
    const { attempt = Number.POSITIVE_INFINITY } = value.update?.last ?? value;
    results.set(nameOf(entry), { epoch: entry.epoch, attempt });
  }
  const begun = new Set<string>();
  for (const mark of marks) {
    const { epoch, attempt, step } = mark;
    const result = results.get(nameOf(mark));
    const again = result && (epoch > result.epoch || (epoch === result.epoch && attempt > result.attempt));
    const once = step === AT_MOST_ONCE ? nameOf(mark) : `${nameOf(mark)} ${epoch} ${attempt}`;
    if (again || begun.has(once)) count++;
    begun.add(once);
  }
  return count;
}

export interface Grant {
  readonly runId: string;
  readonly epoch: number;
  /** By the database's clock, which is the machine's. */
  readonly at: number;
}

/** Between the look at its claim and the mark a process on a busy machine may stand still for a moment. */
const LATE_MS = 500;

export function lateBegins(
  grants: readonly Grant[],
  marks: readonly LoggedMark[],
  pauses: readonly { readonly pid: number; readonly from: number; readonly until: number }[],
): number {
  const byRun = new Map<string, Grant[]>();
  for (const grant of grants) byRun.set(grant.runId, [...(byRun.get(grant.runId) ?? []), grant]);
  return marks.filter(({ runId, epoch, at, pid }) => {
    const next = (byRun.get(runId) ?? []).filter((grant) => grant.epoch > epoch);
    const replacedAt = Math.min(...next.map((grant) => grant.at));
    if (at <= replacedAt + LATE_MS) return false;
    return !pauses.some((pause) => pause.pid === pid && pause.from < at && pause.until + LATE_MS > replacedAt);
  }).length;
}

async function number(cluster: Cluster, text: string): Promise<number> {
  return (await cluster.database.query<{ n: number }>(text))[0]!.n;
}

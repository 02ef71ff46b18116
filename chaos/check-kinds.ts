// The checker of timers, triggers, limits, authors and envs: from what is left in the database, without the engine.

import type { Cluster } from "./cluster.js";
import { SLOTS, TIMERS, WINDOW_MS } from "./kinds.js";
import type { Started } from "./load.js";

export interface KindFindings {
  /** Timers of machines, and windows of the schedule, that came before they were due. */
  readonly timersEarly: number;
  /** Instances that did not come to their end, and timers that are left. */
  readonly timersLost: number;
  readonly timersDoubled: number;
  /** Acknowledged events without their run, and windows between the first and the last without one. */
  readonly triggersLost: number;
  readonly triggersDoubled: number;
  /** Moves after which more runs were admitted under a limit than it allows. */
  readonly limitExceeded: number;
  /** Acknowledged cancels and decisions without the name of their author. */
  readonly auditMissing: number;
  /** Runs that a node of another env held. */
  readonly crossEnv: number;
}

/** The database's clock is the machine's; a timer is armed in microseconds and compared in milliseconds. */
const ROUNDED_MS = 2;

const EVENTS = `
select e.instance, e.name, extract(epoch from e.at) * 1000 as at from holdfast.instance_events e order by e.instance, e.seq`;

const UNDONE = "select count(*)::int as n from holdfast.instances where status <> 'done'";
const LEFT_TIMERS = "select count(*)::int as n from holdfast.timers";

const TRIGGERED = `
select g.program, j.data::jsonb ->> 'no' as no, count(*)::int as n from holdfast.runs r
join holdfast.claim_groups g on g.id = r.claim_group and g.program in ('noticed', 'watcher::watched')
join holdfast.journal j on j.run_id = r.id and j.seq = 1 group by 1, 2`;

const WINDOWS = `
select j.data::jsonb ->> 'window' as window, extract(epoch from r.created_at) * 1000 as at from holdfast.runs r
join holdfast.claim_groups g on g.id = r.claim_group and g.program = 'ticker'
join holdfast.journal j on j.run_id = r.id and j.seq = 1`;

/** A run that is let in comes after the one that left: what leaves is written down first. */
const METERED = `
select m.run_id as "runId", m.new_state as state, j.data::jsonb ->> 'account' as account from chaos.moves m
join holdfast.runs r on r.id = m.run_id
join holdfast.claim_groups g on g.id = r.claim_group and g.program = 'metered'
join holdfast.journal j on j.run_id = r.id and j.seq = 1 order by m.n`;

const CROSSED = `
select count(*)::int as n from chaos.moves m
join holdfast.runs r on r.id = m.run_id join holdfast.claim_groups g on g.id = r.claim_group
join holdfast.nodes n on n.incarnation = m.new_owner where n.env <> g.env`;

const AUTHORS = `
select run_id as "runId", coalesce(sender, '') || ' ' || coalesce(data, '') as by from holdfast.inbox
where kind in ('cancel', 'decision')
union all select run_id, coalesce(data, '') from holdfast.journal where kind in ('cancelled', 'cancelling', 'take')`;

export async function checkKinds(cluster: Cluster, started: Started): Promise<KindFindings> {
  const query = <Row extends object>(text: string) => cluster.database.query<Row>(text);
  const count = async (text: string) => (await query<{ n: number }>(text))[0]!.n;
  const windows = await query<Window>(WINDOWS);
  const { early, doubled } = timers(await query<TimerEvent>(EVENTS));
  const emitted = triggers(await query<Triggered>(TRIGGERED), started.emitted);
  const fired = judgeWindows(windows);
  return {
    timersEarly: early + fired.early,
    timersLost: (await count(UNDONE)) + (await count(LEFT_TIMERS)),
    timersDoubled: doubled,
    triggersLost: emitted.lost + fired.lost,
    triggersDoubled: emitted.doubled + fired.doubled,
    limitExceeded: exceeded(await query<Metered>(METERED)),
    auditMissing: anonymous(await query<Author>(AUTHORS), started.authors),
    crossEnv: await count(CROSSED),
  };
}

export interface TimerEvent {
  readonly instance: string;
  readonly name: string;
  readonly at: number | string;
}

export function timers(events: readonly TimerEvent[]): { readonly early: number; readonly doubled: number } {
  const seen = new Set<string>();
  let [early, doubled] = [0, 0];
  for (const [i, { instance, name, at }] of events.entries()) {
    const ms = (TIMERS as Readonly<Record<string, number>>)[name];
    if (ms === undefined) continue;
    const before = events[i - 1];
    if (before?.instance === instance && Number(at) - Number(before.at) < ms - ROUNDED_MS) early++;
    if (seen.has(`${instance} ${name}`)) doubled++;
    seen.add(`${instance} ${name}`);
  }
  return { early, doubled };
}

interface Triggered {
  readonly program: string;
  readonly no: string;
  readonly n: number;
}

function triggers(rows: readonly Triggered[], emitted: ReadonlySet<string>) {
  const programs = ["noticed", "watcher::watched"];
  const counts = new Map(rows.map(({ program, no, n }) => [`${program} ${no}`, n]));
  const all = [...emitted].flatMap((no) => programs.map((program) => counts.get(`${program} ${no}`) ?? 0));
  return { lost: all.filter((n) => n === 0).length, doubled: rows.filter(({ n }) => n > 1).length };
}

interface Window {
  readonly window: string;
  readonly at: number | string;
}

/** Every window between the first and the last has one run, which is not there before it. */
export function judgeWindows(rows: readonly Window[]) {
  const times = rows.map(({ window }) => Date.parse(window)).sort((a, b) => a - b);
  const gaps = times.slice(1).map((at, i) => at - times[i]!);
  const early = rows.filter(({ window, at }) => Number(at) < Date.parse(window) - ROUNDED_MS).length;
  const lost = gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / WINDOW_MS) - 1), 0);
  return { early, lost, doubled: gaps.filter((gap) => gap < WINDOW_MS / 2).length };
}

export interface Metered {
  readonly runId: string;
  readonly state: string;
  readonly account: string;
}

const AT_WORK = ["waiting", "running"];
const BEGUN = ["waiting", "running", "parked", "paused"];

export function exceeded(moves: readonly Metered[]): number {
  const states = new Map<string, Metered>();
  let count = 0;
  for (const move of moves) {
    states.set(move.runId, move);
    if (!AT_WORK.includes(move.state)) continue;
    const all = [...states.values()];
    const slots = all.filter(({ state }) => AT_WORK.includes(state)).length;
    const serial = all.filter(({ state, account }) => account === move.account && BEGUN.includes(state)).length;
    if (slots > SLOTS || serial > 1) count++;
    for (const { runId, state } of all)
      if (["completed", "failed", "cancelled", "dead"].includes(state)) states.delete(runId);
  }
  return count;
}

interface Author {
  readonly runId: string;
  readonly by: string;
}

function anonymous(rows: readonly Author[], authors: ReadonlyMap<string, string>): number {
  const named = (runId: string, by: string) => rows.some((row) => row.runId === runId && row.by.includes(by));
  return [...authors].filter(([runId, by]) => !named(runId, by)).length;
}

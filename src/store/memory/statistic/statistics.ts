// Statistics of the memory store: the same rounds, steps and sums as in PostgreSQL, over its maps.

import {
  COUNTED_STEPS,
  type CollectRound,
  DURATION_BOUNDS_MS,
  type EndedCounts,
  type Figures,
  type FiguresRequest,
  ID_SKEW_MS,
  JOIN_EVERY_MS,
  JOIN_PART,
  MOST_NAMES,
  OTHER,
  type ProgramFigures,
  STEP_KEPT_MS,
  STEPS_MS,
  type StatisticsStore,
} from "../../contract/statistic/statistics.js";
import { listQueues } from "../limit/queues.js";
import { toMs, toUs } from "../table/micros.js";
import { compareText, joinKey } from "../table/names.js";
import type { QueueFigureRow, RunFigureRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

const PART = "statistics";
const COUNTS = ["started", "completed", "failed", "dead", "cancelled", "skipped"] as const;
type Count = (typeof COUNTS)[number];

export function memoryStatistics(tables: Tables): StatisticsStore {
  return {
    collect: async (round) => collect(tables, round),
    figures: async (request) => figures(tables, request),
    programs: async (request) => programs(tables, request),
  };
}

function collect(tables: Tables, { env, everyMs }: CollectRound): boolean {
  const nowUs = tables.nowUs();
  if (!takesTurn(tables, joinKey(env, PART), everyMs)) return false;
  for (const row of counted(tables, env, nowUs)) raise(tables, row);
  sample(tables, env, nowUs);
  if (!takesTurn(tables, joinKey(env, JOIN_PART), JOIN_EVERY_MS)) return true;
  for (let i = 0; i < STEPS_MS.length; i++) joinOld(tables, env, i, nowUs);
  return true;
}

function takesTurn(tables: Tables, turn: string, everyMs: number): boolean {
  const nowUs = tables.nowUs();
  if ((tables.cleanups.get(turn) ?? Number.NEGATIVE_INFINITY) > nowUs - toUs(everyMs)) return false;
  tables.cleanups.set(turn, nowUs);
  return true;
}

const stepOf = (stepMs: number, ms: number) => Math.floor(ms / stepMs) * stepMs;
const emptyCounts = (): Record<Count, number> & { durations: number[] } => ({
  ...(Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<Count, number>),
  durations: Array<number>(DURATION_BOUNDS_MS.length + 1).fill(0),
});

type CountedRow = Omit<RunFigureRow, Count | "durations"> & ReturnType<typeof emptyCounts>;

/** By name in their order, cut at a number of them. */
function cutNames(names: readonly string[]): (name: string) => boolean {
  const kept = new Set([...new Set(names)].sort(compareText).slice(0, MOST_NAMES));
  return (name) => kept.has(name);
}

function counted(tables: Tables, env: string, nowUs: number): RunFigureRow[] {
  const stepMs = STEPS_MS[0];
  const high = stepOf(stepMs, nowUs / 1000);
  const low = high - COUNTED_STEPS * stepMs;
  const groups = tables.groups.all().filter(({ group }) => group.env === env);
  const pair = ({ program, queue }: { program: string; queue: string }) => `${program}\u0001${queue}`;
  const isKept = cutNames(groups.map(({ group }) => pair(group)));
  const rows = new Map<string, CountedRow>();
  const count = (ms: number, run: RunRow, what: Count, bucket: number | null) => {
    if (ms < low || ms >= high) return;
    const named = isKept(pair(run.group)) ? run.group : { program: OTHER, queue: OTHER };
    for (const { program, queue } of [named, { program: "", queue: "" }]) {
      const at = stepOf(stepMs, ms);
      const key = joinKey(String(at), program, queue);
      const row: CountedRow = rows.get(key) ?? { env, stepMs, at, program, queue, ...emptyCounts() };
      row[what]++;
      if (bucket !== null) row.durations[bucket]!++;
      rows.set(key, row);
    }
  };
  for (const run of tables.runs.values()) {
    if (run.group.env !== env) continue;
    const idMs = Number.parseInt(run.id.replaceAll("-", "").slice(0, 12), 16);
    const isNear = idMs >= low - ID_SKEW_MS && idMs < high + ID_SKEW_MS;
    if (isNear) count(run.createdAtUs / 1000, run, "started", null);
    if (run.endedAtUs === null || run.archivedAtUs !== null || run.state === "quarantined") continue;
    const took = (run.endedAtUs - run.createdAtUs) / 1000;
    const bucket = DURATION_BOUNDS_MS.filter((bound) => took >= bound).length;
    count(run.endedAtUs / 1000, run, run.state as Count, bucket);
  }
  return [...rows.values()];
}

const runKey = ({ env, stepMs, at, program, queue }: RunFigureRow) =>
  joinKey(env, String(stepMs), String(at), program, queue);
const queueKey = ({ env, stepMs, at, queue }: QueueFigureRow) => joinKey(env, String(stepMs), String(at), queue);

/** A number that is stored only rises. */
function raise(tables: Tables, row: RunFigureRow): void {
  const stored = tables.runFigures.get(runKey(row));
  if (stored && COUNTS.every((name) => row[name] <= stored[name])) return;
  tables.runFigures.set(runKey(row), stored ? combined(stored, row, Math.max) : row);
}

function combined(a: RunFigureRow, b: RunFigureRow, of: (a: number, b: number) => number): RunFigureRow {
  const counts = Object.fromEntries(COUNTS.map((name) => [name, of(a[name], b[name])])) as Record<Count, number>;
  return { ...a, ...counts, durations: a.durations.map((n, i) => of(n, b.durations[i]!)) };
}

const plus = (a: number, b: number) => a + b;
const higher = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.max(a, b));

function sample(tables: Tables, env: string, nowUs: number): void {
  const stepMs = STEPS_MS[0];
  const at = stepOf(stepMs, nowUs / 1000);
  const live = listQueues(tables, env).filter(({ counts }) => Object.keys(counts).length > 0);
  const isKept = cutNames(live.map(({ queue }) => queue));
  const sums = new Map<string, QueueFigureRow>([["", { env, stepMs, at, queue: "", ...NO_DEPTH }]]);
  for (const { queue, counts, oldestWaitingMs } of live) {
    const { waiting = 0, running = 0, parked = 0, held = 0 } = counts;
    for (const name of [isKept(queue) ? queue : OTHER, ""]) {
      const sum = sums.get(name) ?? { env, stepMs, at, queue: name, ...NO_DEPTH };
      sums.set(name, {
        ...sum,
        waiting: sum.waiting + waiting,
        running: sum.running + running,
        parked: sum.parked + parked,
        held: sum.held + held,
        oldestMs: higher(sum.oldestMs, oldestWaitingMs),
      });
    }
  }
  for (const row of sums.values()) tables.queueFigures.set(queueKey(row), row);
}

const NO_DEPTH = { waiting: 0, running: 0, parked: 0, held: 0, oldestMs: null };

function peak(a: QueueFigureRow, b: QueueFigureRow): QueueFigureRow {
  return {
    ...a,
    waiting: Math.max(a.waiting, b.waiting),
    running: Math.max(a.running, b.running),
    parked: Math.max(a.parked, b.parked),
    held: Math.max(a.held, b.held),
    oldestMs: higher(a.oldestMs, b.oldestMs),
  };
}

function joinOld(tables: Tables, env: string, i: number, nowUs: number): void {
  const until = nowUs / 1000 - STEP_KEPT_MS[i]!;
  const next = STEPS_MS[i + 1];
  joinRows(tables.runFigures, { env, stepMs: STEPS_MS[i]!, until, next }, runKey, (a, b) => combined(a, b, plus));
  joinRows(tables.queueFigures, { env, stepMs: STEPS_MS[i]!, until, next }, queueKey, peak);
}

interface Old {
  readonly env: string;
  readonly stepMs: number;
  readonly until: number;
  readonly next: (typeof STEPS_MS)[number] | undefined;
}

function joinRows<Row extends RunFigureRow | QueueFigureRow>(
  table: Map<string, Row>,
  { env, stepMs, until, next }: Old,
  keyOf: (row: Row) => string,
  join: (a: Row, b: Row) => Row,
): void {
  for (const [key, row] of [...table]) {
    if (row.env !== env || row.stepMs !== stepMs || row.at >= until) continue;
    table.delete(key);
    if (next === undefined) continue;
    const longer = { ...row, stepMs: next, at: stepOf(next, row.at) };
    const stored = table.get(keyOf(longer));
    table.set(keyOf(longer), stored ? join(stored, longer) : longer);
  }
}

function figures(tables: Tables, request: FiguresRequest): Figures {
  const { env, from, to, stepMs, program, queue } = request;
  const isIn = (row: { env: string; at: number }) => row.env === env && row.at >= from && row.at < to;
  const isWanted = (row: RunFigureRow) => {
    if (program === undefined && queue === undefined) return row.program === "";
    return (
      row.program !== "" &&
      (program === undefined || row.program === program) &&
      (queue === undefined || row.queue === queue)
    );
  };
  const runs = [...tables.runFigures.values()].filter((row) => isIn(row) && isWanted(row));
  const depths = [...tables.queueFigures.values()].filter((row) => isIn(row) && row.queue === (queue ?? ""));
  const byTime = <Row extends { at: number }>(rows: readonly Row[], join: (a: Row, b: Row) => Row): Row[] => {
    const joined = new Map<number, Row>();
    for (const row of rows) {
      const at = stepOf(stepMs, row.at);
      const before = joined.get(at);
      joined.set(at, { ...(before ? join(before, row) : row), at });
    }
    return [...joined.values()].sort((a, b) => a.at - b.at);
  };
  return {
    at: toMs(tables.cleanups.get(joinKey(env, PART)) ?? null),
    runs: byTime(runs, (a, b) => combined(a, b, plus)).map(({ at, ...row }) => ({ at, ...countsOf(row) })),
    queues: byTime(depths, peak).map(({ at, waiting, running, parked, held, oldestMs }) => {
      return { at, waiting, running, parked, held, oldestMs };
    }),
  };
}

function programs(tables: Tables, { env, from, to }: Omit<FiguresRequest, "stepMs">): ProgramFigures[] {
  const sums = new Map<string, RunFigureRow>();
  for (const row of tables.runFigures.values()) {
    if (row.env !== env || row.program === "" || row.at < from || row.at >= to) continue;
    const before = sums.get(row.program);
    sums.set(row.program, before ? combined(before, row, plus) : row);
  }
  return [...sums.values()]
    .sort((a, b) => compareText(a.program, b.program))
    .map((row) => ({ program: row.program, ...countsOf(row) }));
}

function countsOf({ started, completed, failed, dead, cancelled, skipped, durations }: EndedCounts): EndedCounts {
  return { started, completed, failed, dead, cancelled, skipped, durations: [...durations] };
}

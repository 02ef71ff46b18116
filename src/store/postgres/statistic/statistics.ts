// Statistics of the PostgreSQL store: one statement counts starts and ends, one samples depths, two join old steps, three read.

import {
  COUNTED_STEPS,
  DURATION_BOUNDS_MS,
  type Figures,
  type FiguresRequest,
  ID_SKEW_MS,
  JOIN_EVERY_MS,
  JOIN_PART,
  MOST_NAMES,
  MOST_SAMPLED,
  OTHER,
  type ProgramFigures,
  type QueueFigures,
  type RunFigures,
  STEP_KEPT_MS,
  STEPS_MS,
  type StatisticsStore,
} from "../../contract/statistic/statistics.js";
import { takeTurn } from "../clean-up.js";
import type { Database } from "../connection/database.js";
import { query, statement } from "../connection/dialect.js";
import { instant, ms } from "../connection/instant.js";
import { depths } from "../limit/queue-depths.js";
import { ENDED_PARTS, endedPartOf } from "../run/ended-states.js";

const PART = "statistics";
/** A statement that takes longer is given up: the next round counts the same steps. */
const TIMEOUT_MS = 5_000;
/** Rows that one statement joins. */
const JOINED_ROWS = 5_000;

const COUNTS = ["started", "completed", "failed", "dead", "cancelled", "skipped"] as const;
const BUCKETS = DURATION_BOUNDS_MS.length + 1;
const each = (make: (i: number) => string) => Array.from({ length: BUCKETS }, (_, i) => make(i)).join(", ");
const sums = (row: string) => `${COUNTS.map((name) => `sum(${row}.${name})::int as ${name}`).join(", ")},
  array[${each((i) => `sum(${row}.durations[${i + 1}])::int`)}] as durations`;

const step = (stepMs: number | string, at: string) =>
  `date_bin(${stepMs} * interval '1 millisecond', ${at}, timestamptz 'epoch')`;
/** The lowest id that is made at a time, as lowestId. */
const lowest = (at: string) =>
  `rpad(lpad(to_hex(floor(extract(epoch from ${at}) * 1000)::bigint), 12, '0'), 32, '0')::uuid`;
const milliseconds = (n: number) => `interval '${n} milliseconds'`;

/** Names are cut at a number of them, in their order: figures stay bounded, whatever programs are called. */
const named = (names: string, order: string) =>
  `case when dense_rank() over (order by ${order}) <= ${MOST_NAMES} then ${names} else '${OTHER}' end as ${names}`;

/**
 * Ended runs come from their index, by group and time; started ones from the primary key, because ids carry a time. A grouping
 * without the names makes the sum of the env. A number that is stored only rises.
 */
export const countFigures = statement(
  "count_figures",
  "Counts what started and ended in the last closed steps of time.",
  ({ schema: s, now }) => {
    const took = "extract(epoch from x.ended_at - x.created_at) * 1000";
    const part = (of: number) => `
    select r.state, r.created_at, r.ended_at from ${s}.runs r
    where r.claim_group = m.id and ${endedPartOf("r")} = ${of} and r.ended_at is not null
      and r.ended_at >= (select low from w) and r.ended_at < (select high from w)`;
    const higher = COUNTS.map((name) => `excluded.${name} > f.${name}`).join(" or ");
    return `
with t as materialized (select ${now} as now
), w as materialized (
  select high - ${milliseconds(COUNTED_STEPS * STEPS_MS[0])} as low, high from (select ${step(STEPS_MS[0], "t.now")} as high from t) x
), mine as materialized (
  select g.id, ${named("program", `g.program collate "C", g.queue collate "C"`)},
    ${named("queue", `g.program collate "C", g.queue collate "C"`)}
  from ${s}.claim_groups g where g.env = $1
), happened as (
  select ${step(STEPS_MS[0], "x.ended_at")} as at, m.program, m.queue, x.state as what,
    width_bucket(${took}, array[${DURATION_BOUNDS_MS.join(", ")}]::numeric[]) as bucket
  from mine m cross join lateral (${part(ENDED_PARTS.ended)}
    union all${part(ENDED_PARTS.trouble)}
  ) x
  where x.state <> 'quarantined'
  union all
  select ${step(STEPS_MS[0], "x.created_at")}, m.program, m.queue, 'started', null
  from (
    select r.claim_group, r.created_at from ${s}.runs r
    where r.id >= ${lowest(`(select low from w) - ${milliseconds(ID_SKEW_MS)}`)}
      and r.id < ${lowest(`(select high from w) + ${milliseconds(ID_SKEW_MS)}`)}
      and r.created_at >= (select low from w) and r.created_at < (select high from w) offset 0
  ) x join mine m on m.id = x.claim_group
)
insert into ${s}.run_figures as f (env, at, step_ms, program, queue, ${COUNTS.join(", ")}, durations)
select $1, h.at, ${STEPS_MS[0]}, coalesce(h.program, ''), coalesce(h.queue, ''),
  ${COUNTS.map((name) => `count(*) filter (where h.what = '${name}')`).join(", ")},
  array[${each((i) => `count(*) filter (where h.bucket = ${i})`)}]::int[]
from happened h group by grouping sets ((h.at, h.program, h.queue), (h.at))
on conflict (env, step_ms, at, program, queue) do update set
  ${COUNTS.map((name) => `${name} = greatest(f.${name}, excluded.${name})`).join(", ")},
  durations = array[${each((i) => `greatest(f.durations[${i + 1}], excluded.durations[${i + 1}])`)}]
where ${higher}`;
  },
);

export const sampleQueues = statement(
  "sample_queues",
  "Stores how many runs are in each queue now.",
  ({ schema: s, now }) => {
    const of = (state: string) => `coalesce(sum(d.n) filter (where d.state = '${state}'), 0)`;
    return `
with t as materialized (select ${now} as now
), ${depths(s, { env: "$1", most: String(MOST_SAMPLED) })}
insert into ${s}.queue_figures (env, at, step_ms, queue, waiting, running, parked, held, oldest_ms)
select $1, ${step(STEPS_MS[0], "(select now from t)")}, ${STEPS_MS[0]}, coalesce(d.queue, ''),
  ${of("waiting")}, ${of("running")}, ${of("parked")}, ${of("held")},
  floor(extract(epoch from (select now from t) - min(d.oldest)) * 1000)
from (select ${named("queue", `x.queue collate "C"`)}, x.state, x.n, x.oldest from depths x) d
group by grouping sets ((d.queue), ())
on conflict (env, step_ms, at, queue) do update set waiting = excluded.waiting, running = excluded.running,
  parked = excluded.parked, held = excluded.held, oldest_ms = excluded.oldest_ms`;
  },
);

/** The rows that are joined are deleted by the statement that adds them: nothing is counted twice. */
const oldRows = (s: string, table: string, now: string) => `old as materialized (
  select f.ctid from ${s}.${table} f
  where f.env = $1 and f.step_ms = $2 and f.at < ${now} - $4::float8 * interval '1 millisecond'
  order by f.env, f.step_ms, f.at limit ${JOINED_ROWS} for update skip locked
), gone as (
  delete from ${s}.${table} f where f.ctid = any(array(select ctid from old)) returning f.*
)`;

/** Without a next step, $3 is 0 and the rows are only removed. */
export const joinRunFigures = statement(
  "join_run_figures",
  "Joins old figures of runs into longer steps.",
  ({ schema: s, now }) => `
with ${oldRows(s, "run_figures", now)}
insert into ${s}.run_figures as f (env, at, step_ms, program, queue, ${COUNTS.join(", ")}, durations)
select g.env, ${step("$3::int", "g.at")}, $3::int, g.program, g.queue, ${sums("g")}
from gone g where $3::int > 0 group by 1, 2, 4, 5
on conflict (env, step_ms, at, program, queue) do update set
  ${COUNTS.map((name) => `${name} = f.${name} + excluded.${name}`).join(", ")},
  durations = array[${each((i) => `f.durations[${i + 1}] + excluded.durations[${i + 1}]`)}]`,
);

const DEPTHS = ["waiting", "running", "parked", "held", "oldest_ms"] as const;

export const joinQueueFigures = statement(
  "join_queue_figures",
  "Joins old depths of queues into longer steps.",
  ({ schema: s, now }) => `
with ${oldRows(s, "queue_figures", now)}
insert into ${s}.queue_figures as f (env, at, step_ms, queue, ${DEPTHS.join(", ")})
select g.env, ${step("$3::int", "g.at")}, $3::int, g.queue, ${DEPTHS.map((name) => `max(g.${name})`).join(", ")}
from gone g where $3::int > 0 group by 1, 2, 4
on conflict (env, step_ms, at, queue) do update set
  ${DEPTHS.map((name) => `${name} = greatest(f.${name}, excluded.${name})`).join(", ")}`,
);

const SAMPLE: FiguresRequest = { env: "e", from: 1, to: 2, stepMs: 60_000 };
const SAMPLES = { "of an env": SAMPLE, "of a program and a queue": { ...SAMPLE, program: "p", queue: "q" } };

const within = `f.env = $1 and f.step_ms in (${STEPS_MS.join(", ")}) and f.at >= ${instant("$2::float8")} and f.at < ${instant("$3::float8")}`;

const readRunFigures = query<FiguresRequest>({
  name: "read_run_figures",
  purpose: "Reads starts and ends over time.",
  text({ schema: s }, { env, from, to, stepMs, program, queue }) {
    const values: unknown[] = [env, from, to, stepMs];
    const all = program === undefined && queue === undefined;
    const ofProgram = program === undefined ? "" : ` and f.program = $${values.push(program)}`;
    const ofQueue = queue === undefined ? "" : ` and f.queue = $${values.push(queue)}`;
    const text = `
select ${ms(step("$4::int", "f.at"))} as at, ${sums("f")}
from ${s}.run_figures f where ${within}${all ? " and f.program = ''" : ` and f.program <> ''${ofProgram}${ofQueue}`}
group by 1 order by 1`;
    return { text, values };
  },
  samples: SAMPLES,
});

const readQueueFigures = query<FiguresRequest>({
  name: "read_queue_figures",
  purpose: "Reads depths over time.",
  text: ({ schema: s }, { env, from, to, stepMs, queue = "" }) => ({
    text: `
select ${ms(step("$4::int", "f.at"))} as at, max(f.waiting) as waiting, max(f.running) as running, max(f.parked) as parked,
  max(f.held) as held, max(f.oldest_ms)::float8 as "oldestMs"
from ${s}.queue_figures f where ${within} and f.queue = $5 group by 1 order by 1`,
    values: [env, from, to, stepMs, queue],
  }),
  samples: SAMPLES,
});

const readProgramFigures = query<Omit<FiguresRequest, "stepMs">>({
  name: "read_program_figures",
  purpose: "Reads the sums of each program over a time.",
  text: ({ schema: s }, { env, from, to }) => ({
    text: `
select f.program, ${sums("f")} from ${s}.run_figures f where ${within} and f.program <> '' group by 1 order by 1`,
    values: [env, from, to],
  }),
  samples: { "of an env": SAMPLE },
});

const lastRound = statement(
  "last_statistics",
  "Reads when figures were last counted.",
  ({ schema: s }) => `select ${ms("c.at")} as at from ${s}.cleanups c where c.env = $1 and c.part = '${PART}'`,
);

export function statisticsStore(db: Database): StatisticsStore {
  return {
    collect: ({ env, everyMs }) => collect(db, env, everyMs),
    figures: (request) => figures(db, request),
    programs: (request) => db.runQuery<ProgramFigures, typeof request>(readProgramFigures, request),
  };
}

async function collect(db: Database, env: string, everyMs: number): Promise<boolean> {
  const options = { once: true, timeoutMs: TIMEOUT_MS } as const;
  if ((await db.run(takeTurn, [env, PART, everyMs], options)).length === 0) return false;
  await db.run(countFigures, [env], options);
  await db.run(sampleQueues, [env], options);
  if ((await db.run(takeTurn, [env, JOIN_PART, JOIN_EVERY_MS], options)).length === 0) return true;
  for (const [i, stepMs] of STEPS_MS.entries()) {
    const values = [env, stepMs, STEPS_MS[i + 1] ?? 0, STEP_KEPT_MS[i]];
    await db.run(joinRunFigures, values, options);
    await db.run(joinQueueFigures, values, options);
  }
  return true;
}

async function figures(db: Database, request: FiguresRequest): Promise<Figures> {
  const [runs, queues, [round]] = await Promise.all([
    db.runQuery<RunFigures, FiguresRequest>(readRunFigures, request),
    db.runQuery<QueueFigures, FiguresRequest>(readQueueFigures, request),
    db.run<{ at: number }>(lastRound, [request.env]),
  ]);
  return { at: round?.at ?? null, runs, queues };
}

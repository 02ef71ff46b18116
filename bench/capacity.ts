// `npm run bench -- capacity`: what one server can do as the load grows, what parked runs and idle nodes cost, and a model of it
// that is checked on all cores and on one.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { allowedCores, canRestrict, coresIn } from "./capacity-cores.js";
import { type Load, type Measured, measureLoad, middleOf, type Point } from "./capacity-load.js";
import { ACCEPTED, type Check, check, fitModel, kneeOf } from "./capacity-model.js";
import { idleNodes, parkedRuns } from "./capacity-rest.js";
import type { PartOptions } from "./parts.js";
import { serverCpuUs } from "./server.js";
import { type Scale, SideBySide } from "./side-by-side.js";

const PROGRAMS = ["noop", "steps"] as const;
type Program = (typeof PROGRAMS)[number];
const UNITS = { noop: "runs/s", steps: "steps/s" };

/** First more runs in flight in one process, then more processes. */
const LOADS = [
  { concurrency: 10, processes: 1 },
  { concurrency: 50, processes: 1 },
  { concurrency: 200, processes: 1 },
  { concurrency: 500, processes: 1 },
  { concurrency: 200, processes: 2 },
  { concurrency: 200, processes: 4 },
] as const;
/** The load of LOADS that is measured on one core too. */
const ON_ONE_CORE = 2;
const NODES = [1, 4, 8];
const FLUSHES = 1_000;

const CORES = coresIn(allowedCores());

function scaleOf({ quick, tiny }: PartOptions): Scale {
  if (tiny) return { name: "tiny", rounds: 1, factor: 0.003 };
  return quick ? { name: "quick", rounds: 1, factor: 0.25 } : { name: "full", rounds: 3, factor: 1 };
}

/** One session that commits one row after the other on the server, with no way to the client in between. */
async function flushRate({ pool, size }: { readonly pool: pg.Pool; readonly size: number }): Promise<number> {
  const table = `public.bench_${randomUUID().slice(0, 8)}`;
  await pool.query(`create table ${table} (n int)`);
  try {
    const startedAt = performance.now();
    await pool.query(`do $$ begin for i in 1..${size} loop insert into ${table} values (i); commit; end loop; end $$`);
    return Math.round((size * 1000) / (performance.now() - startedAt));
  } finally {
    await pool.query(`drop table ${table}`);
  }
}

interface Trial {
  readonly load: Load;
  /** The only one that nodes and server may use; all when it is null. */
  readonly core: number | null;
  readonly rounds: Measured[];
}

function trialsOf({ server }: SideBySide): Trial[] {
  const canCheck = server.pid !== null && CORES.length > 1 && canRestrict();
  return PROGRAMS.flatMap((program) => {
    const all = LOADS.map((load): Trial => ({ load: { program, ...load }, core: null, rounds: [] }));
    return canCheck ? [...all, { load: all[ON_ONE_CORE]!.load, core: CORES[0]!, rounds: [] }] : all;
  });
}

/** Every load once per round, so that what else the machine does affects all of them. */
async function measureTrials(bench: SideBySide) {
  const trials = trialsOf(bench);
  // The processes are measured warm.
  for (const program of PROGRAMS) await measureLoad(bench, { program, concurrency: 200, processes: 4 });
  for (let round = 0; round < bench.scale.rounds; round++) {
    for (const { load, core, rounds } of trials) rounds.push(await measureLoad(bench, load, core));
  }
  const points = trials.filter(({ core }) => core === null).map(({ load, rounds }) => middleOf(load, rounds));
  const onOneCore = trials.filter(({ core }) => core !== null).map(({ load, rounds }) => middleOf(load, rounds));
  for (const point of points) bench.say(lineOf(point, CORES.length));
  for (const point of onOneCore) bench.say(lineOf(point, 1));
  return { points, onOneCore };
}

function lineOf(point: Point, cores: number): string {
  const { program, concurrency, processes, perSecond, nodeUs, serverUs, unitsPerFlush, busy, others } = point;
  return (
    `${program}, ${processes} × ${concurrency}: ${perSecond} ${UNITS[program]}; Node ${nodeUs} µs, PostgreSQL ${serverUs} µs, ` +
    `${unitsPerFlush} per flush; ${Math.round(100 * busy)} % of ${cores} cores, other programs ${others} cores`
  );
}

/** Of one program: fitted to the loads of one process on all cores. */
function modelOf(points: readonly Point[], alone: Point | undefined, flushesPerSecond: number) {
  const model = fitModel(
    points
      .filter(({ processes }) => processes === 1)
      .map((point) => ({ ...point, busyCores: point.busy * CORES.length })),
  );
  const best = points.reduce((most, one) => (one.perSecond > most.perSecond ? one : most));
  const checked = (point: Point, cores: number, { unitsPerFlush }: Point) => {
    const left = Math.round((cores - point.others) * 100) / 100;
    const { processes, perSecond } = point;
    return check(model, { cores: left, processes, flushesPerSecond, unitsPerFlush }, perSecond);
  };
  return {
    ...model,
    knee: kneeOf(points),
    allCores: checked(best, CORES.length, best),
    /** With the batches of the same load on all cores. */
    oneCore: alone ? checked(alone, 1, points[ON_ONE_CORE]!) : null,
  };
}

type Models = Record<Program, ReturnType<typeof modelOf>>;

function checkLine(program: Program, { cores, predicted, limit, measured, ratio, ok }: Check): string {
  const { low, high } = ACCEPTED;
  const figures = `predicted ${predicted} ${UNITS[program]} (by ${limit}), measured ${measured}`;
  return `${ok ? "ok  " : "FAIL"} ${program}, ${cores} cores left: ${figures}, ratio ${ratio} (${low}–${high})`;
}

function linesOf(program: Program, model: Models[Program]): string[] {
  const { node, server, coresPerProcess, knee, allCores, oneCore } = model;
  const us = `Node ${node.perUnit} + ${node.perFlush} / batch µs, PostgreSQL ${server.perUnit} + ${server.perFlush} / batch µs, ${coresPerProcess} cores per process`;
  const checks = [allCores, oneCore].flatMap((one) => (one ? [checkLine(program, one)] : []));
  return [`${program}: ${us}; knee at ${knee.processes} × ${knee.concurrency}`, ...checks];
}

async function measureAll(bench: SideBySide) {
  const flushesPerSecond = await flushRate({ pool: bench.pool, size: bench.size(FLUSHES) });
  bench.say(`one session flushes the log ${flushesPerSecond} times a second`);
  const { points, onOneCore } = await measureTrials(bench);
  const own = (program: Program) =>
    modelOf(
      points.filter((point) => point.program === program),
      onOneCore.find((point) => point.program === program),
      flushesPerSecond,
    );
  // Without the server's time on cores there is nothing to fit.
  const model: Models | null = serverCpuUs(bench.server) === null ? null : { noop: own("noop"), steps: own("steps") };
  for (const program of PROGRAMS) if (model) for (const line of linesOf(program, model[program])) bench.say(line);
  // New processes: those that have drained runs are larger.
  await bench.endHosts();
  const parked = await parkedRuns(bench);
  bench.say(`parked: ${JSON.stringify(parked)}`);
  const nodes = [];
  for (const count of NODES) nodes.push(await idleNodes(bench, count));
  bench.say(`idle nodes: ${JSON.stringify(nodes)}`);
  return { cores: CORES.length, flushesPerSecond, points, onOneCore, model, parked, nodes };
}

function notesOf(model: Models | null): string[] {
  if (model === null) return ["The model is left out: the server's time on cores cannot be read."];
  if (model.noop.oneCore === null) return ["The check on one core is left out: it needs taskset and two cores."];
  return [];
}

export async function benchCapacity(url: string, options: PartOptions) {
  const { server, say } = options;
  const pool = new pg.Pool({ connectionString: url, max: 10 }).on("error", () => {});
  const bench = new SideBySide({ server, pool, scale: scaleOf(options), libraries: ["holdfast"], say });
  try {
    const figures = await measureAll(bench);
    const notes = notesOf(figures.model);
    for (const note of notes) say(note);
    const checks = Object.values(figures.model ?? {}).flatMap(({ allCores, oneCore }) => [allCores, oneCore]);
    return { ok: checks.every((one) => one === null || one.ok), ...figures, notes };
  } finally {
    await bench.end();
    await pool.end();
  }
}

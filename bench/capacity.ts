// `npm run bench -- capacity`: what one server can do as the load grows, what parked runs and idle nodes cost, and a model of it
// that is checked on all cores and on one.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { allowedCores, canRestrict, coresIn } from "./capacity-cores.js";
import { type Load, type Measured, measureLoad, middleOf, type Point } from "./capacity-load.js";
import { ACCEPTED, type Check, type Cost, check, fit, kneeOf } from "./capacity-model.js";
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
/** The load of the check on one core; the model is fitted to loads of at least as many runs in flight. */
const CHECKED = { concurrency: 200, processes: 1 } as const;
const NODES = [1, 4, 8];
const FLUSHES = 1_000;

function scaleOf({ quick, tiny }: PartOptions): Scale {
  if (tiny) return { name: "tiny", rounds: 1, factor: 0.003 };
  return quick ? { name: "quick", rounds: 1, factor: 0.25 } : { name: "full", rounds: 3, factor: 1 };
}

/** One session that commits one row after the other on the server, with no way to the client in between. */
async function flushesPerSecond({ pool, size }: { pool: pg.Pool; size: number }): Promise<number> {
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

function lineOf(point: Point, cores: number): string {
  const { program, concurrency, processes, perSecond, nodeUs, serverUs, unitsPerFlush, busy, others } = point;
  return (
    `${program}, ${processes} × ${concurrency}: ${perSecond} ${UNITS[program]}; Node ${nodeUs} µs, PostgreSQL ${serverUs} µs, ` +
    `${unitsPerFlush} per flush; ${Math.round(100 * busy)} % of ${cores} cores, other programs ${others} cores`
  );
}

class Capacity {
  readonly #bench: SideBySide;
  readonly #cores = coresIn(allowedCores());

  constructor(bench: SideBySide) {
    this.#bench = bench;
  }

  async #rounds(load: Load, core: number | null = null): Promise<Point> {
    const rounds: Measured[] = [];
    for (let i = 0; i < this.#bench.scale.rounds; i++) rounds.push(await measureLoad(this.#bench, load, core));
    const point = middleOf(load, rounds);
    this.#bench.say(lineOf(point, core === null ? this.#cores.length : 1));
    return point;
  }

  /** The processes are measured warm. */
  async points(): Promise<Point[]> {
    const points: Point[] = [];
    for (const program of PROGRAMS) {
      await measureLoad(this.#bench, { program, concurrency: 200, processes: 4 });
      for (const load of LOADS) points.push(await this.#rounds({ program, ...load }));
    }
    return points;
  }

  /** Null where the processes cannot be restricted to a core. */
  async onOneCore(program: Program): Promise<Point | null> {
    const canCheck = this.#bench.server.pid !== null && this.#cores.length > 1 && canRestrict();
    return canCheck ? this.#rounds({ program, ...CHECKED }, this.#cores[0]!) : null;
  }

  /** The model of one program, from its points on all cores. */
  async model(program: Program, points: readonly Point[], flushes: number) {
    const cost = fit(points.filter(({ concurrency }) => concurrency >= CHECKED.concurrency));
    const best = points.reduce((most, one) => (one.perSecond > most.perSecond ? one : most));
    const alone = await this.onOneCore(program);
    return {
      cost,
      knee: kneeOf(points),
      allCores: checked(cost, best, this.#cores.length, flushes),
      oneCore: alone && checked(cost, alone, 1, flushes),
    };
  }
}

function checked(cost: Cost, { perSecond, others }: Point, cores: number, flushes: number): Check {
  const left = Math.round((cores - others) * 100) / 100;
  return check(cost, { cores: left, flushesPerSecond: flushes }, perSecond);
}

function checkLine(program: Program, { cores, predicted, limit, measured, ratio, ok }: Check): string {
  const { low, high } = ACCEPTED;
  const figures = `predicted ${predicted} ${UNITS[program]} (by ${limit}), measured ${measured}`;
  return `${ok ? "ok  " : "FAIL"} ${program}, ${cores} cores left: ${figures}, ratio ${ratio} (${low}–${high})`;
}

async function models(capacity: Capacity, points: readonly Point[], flushes: number, say: (line: string) => void) {
  const found: Partial<Record<Program, Awaited<ReturnType<Capacity["model"]>>>> = {};
  for (const program of PROGRAMS) {
    const own = points.filter((point) => point.program === program);
    const model = await capacity.model(program, own, flushes);
    say(`${program}: knee at ${model.knee.processes} × ${model.knee.concurrency}`);
    for (const one of [model.allCores, model.oneCore]) if (one) say(checkLine(program, one));
    found[program] = model;
  }
  return found as Record<Program, Awaited<ReturnType<Capacity["model"]>>>;
}

async function measureAll(bench: SideBySide, options: PartOptions) {
  const capacity = new Capacity(bench);
  const flushes = await flushesPerSecond({ pool: bench.pool, size: bench.size(FLUSHES) });
  bench.say(`one session flushes the log ${flushes} times a second`);
  const points = await capacity.points();
  // Without the server's time on cores there is nothing to fit.
  const canFit = serverCpuUs(options.server) !== null;
  const model = canFit ? await models(capacity, points, flushes, bench.say) : null;
  const parked = await parkedRuns(bench);
  bench.say(`parked: ${JSON.stringify(parked)}`);
  const nodes = [];
  for (const count of NODES) nodes.push(await idleNodes(bench, count));
  bench.say(`idle nodes: ${JSON.stringify(nodes)}`);
  return { cores: coresIn(allowedCores()).length, flushesPerSecond: flushes, points, model, parked, nodes };
}

function notesOf(model: Awaited<ReturnType<typeof models>> | null): string[] {
  if (model === null) return ["The model is left out: the server's time on cores cannot be read."];
  if (model.noop.oneCore === null) return ["The check on one core is left out: it needs taskset and two cores."];
  return [];
}

export async function benchCapacity(url: string, options: PartOptions) {
  const { server, say } = options;
  const pool = new pg.Pool({ connectionString: url, max: 10 }).on("error", () => {});
  const bench = new SideBySide({ server, pool, scale: scaleOf(options), libraries: ["holdfast"], say });
  try {
    const figures = await measureAll(bench, options);
    const notes = notesOf(figures.model);
    for (const note of notes) say(note);
    const checks = Object.values(figures.model ?? {}).flatMap(({ allCores, oneCore }) => [allCores, oneCore]);
    return { ok: checks.every((one) => one === null || one.ok), ...figures, notes };
  } finally {
    await bench.end();
    await pool.end();
  }
}

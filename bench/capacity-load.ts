// One point of the capacity benchmark: waiting runs are drained under a stated load; its rate and what one unit of it costs.

import { setTimeout as pass } from "node:timers/promises";
import type pg from "pg";
import { allowedCores, busyUs, coresIn, restrict } from "./capacity-cores.js";
import { median } from "./measure.js";
import { logFlushes, serverCpuUs, serverPids } from "./server.js";
import type { Place, SideBySide } from "./side-by-side.js";

const STEPS = 10;
const RUNS = { noop: 16_000, steps: 1_600 };
/** When the connections are counted, from the begin of the work. */
const COUNTED_AFTER_MS = 300;

export interface Load {
  readonly program: "noop" | "steps";
  /** Of each process. */
  readonly concurrency: number;
  readonly processes: number;
}

export interface Measured {
  /** Runs without steps, or steps. */
  readonly perSecond: number;
  readonly nodeUs: number;
  readonly serverUs: number;
  readonly unitsPerFlush: number;
  /** The share of the cores that nodes and server used. */
  readonly busy: number;
  /** Cores that all other programs used, the runner of the benchmarks included. */
  readonly others: number;
  /** Of all nodes, in the middle of the work. */
  readonly connections: number;
}

export type Point = Load & Measured;

/** Sessions of Holdfast on this database. */
export async function connectionsOf(pool: pg.Pool): Promise<number> {
  const text = `select /* bench */ count(*)::int as n from pg_stat_activity
    where application_name = 'holdfast' and datname = current_database()`;
  return (await pool.query<{ n: number }>(text)).rows[0]!.n;
}

/** Sessions report their flushes at the latest when they end. */
async function closed({ pool }: SideBySide, { hosts }: Place): Promise<void> {
  await Promise.all(hosts.map((host) => host.call("close")));
  for (let i = 0; i < 100 && (await connectionsOf(pool)) > 0; i++) await pass(20);
}

async function filled(bench: SideBySide, place: Place, { program, concurrency, processes }: Load): Promise<number> {
  // Enough for all slots to be taken most of the time; few runs in flight are slow.
  const full = concurrency < 50 ? RUNS[program] / 3 : RUNS[program];
  const isTrial = bench.scale.name === "tiny";
  const count = Math.max(bench.size(full), isTrial ? 1 : 2 * concurrency * processes);
  await place.hosts[0]!.call("fill", { program, input: program === "steps" ? STEPS : null, count });
  await closed(bench, place);
  for (const host of place.hosts) await host.call("open", { url: bench.server.url, schema: place.schema });
  await bench.settle(place);
  return count;
}

async function read({ server }: SideBySide, { hosts }: Place, cores: readonly number[]) {
  const own = await Promise.all(hosts.map((host) => host.call("cpuUs")));
  return {
    at: performance.now(),
    nodeUs: own.reduce((sum, one) => sum + one, 0),
    serverUs: serverCpuUs(server) ?? 0,
    busyUs: busyUs(cores),
  };
}

async function drained(bench: SideBySide, place: Place, load: Load, cores: readonly number[]): Promise<Measured> {
  const { program, concurrency } = load;
  const count = await filled(bench, place, load);
  const units = program === "steps" ? count * STEPS : count;
  const flushesBefore = await logFlushes(bench.pool);
  const before = await read(bench, place, cores);
  const [runsPerSecond, connections] = await Promise.all([
    bench.drain(place, count, { concurrency, purpose: program === "steps" ? "flight" : "drain" }),
    pass(COUNTED_AFTER_MS).then(() => connectionsOf(bench.pool)),
  ]);
  const after = await read(bench, place, cores);
  await closed(bench, place);
  const flushes = (await logFlushes(bench.pool)) - flushesBefore;
  const us = (after.at - before.at) * 1_000;
  const nodeUs = after.nodeUs - before.nodeUs;
  const serverUs = after.serverUs - before.serverUs;
  return {
    perSecond: (runsPerSecond * units) / count,
    nodeUs: nodeUs / units,
    serverUs: serverUs / units,
    unitsPerFlush: units / Math.max(1, flushes),
    busy: (nodeUs + serverUs) / us / cores.length,
    others: Math.max(0, (after.busyUs - before.busyUs - nodeUs - serverUs) / us),
    connections,
  };
}

/** `core`: the only one that nodes and server may use; all when it is null. */
export async function measureLoad(bench: SideBySide, load: Load, core: number | null = null): Promise<Measured> {
  const [holdfast] = await bench.libraries(({ name }) => name === "holdfast");
  const all = allowedCores();
  return bench.inPlace(holdfast!, { processes: load.processes }, async (place) => {
    if (core === null) return drained(bench, place, load, coresIn(all));
    const pids = () => [...serverPids(bench.server), ...place.hosts.map(({ pid }) => pid)];
    restrict(pids(), String(core));
    try {
      return await drained(bench, place, load, [core]);
    } finally {
      restrict(pids(), all);
    }
  });
}

/** The medians of several rounds. */
export function middleOf(load: Load, rounds: readonly Measured[]): Point {
  const of = (pick: (one: Measured) => number) => Number(median(rounds.map(pick)).toPrecision(3));
  return {
    ...load,
    perSecond: Math.round(median(rounds.map(({ perSecond }) => perSecond))),
    nodeUs: of(({ nodeUs }) => nodeUs),
    serverUs: of(({ serverUs }) => serverUs),
    unitsPerFlush: of(({ unitsPerFlush }) => unitsPerFlush),
    busy: of(({ busy }) => busy),
    others: of(({ others }) => others),
    connections: of(({ connections }) => connections),
  };
}

// A backfill: one run of a program for each interval of a range, a bounded number at a time, with its progress.
//
// Every run has a key, so the same call again finds the same runs: a backfill survives the process that began it. The store
// enforces the bound on the whole cluster.

import { type Duration, toMs } from "../kernel/duration.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { NewLimit } from "../kernel/run/new-run.js";
import { isEnded, type RunState } from "../kernel/run/run-state.js";
import { sleep, type World } from "../kernel/world.js";
import type { Startable } from "../program/startable.js";
import type { Store } from "../store/contract/store.js";
import type { Runs, StartOutcome } from "./runs.js";

/** Options of `backfill`: the range, the length of an interval, and the input of each run. */
export interface BackfillOptions<In> {
  /** Names this backfill: the same name continues it, and never starts an interval twice while its run is kept. */
  readonly name: string;
  /** The start of the first interval. */
  readonly from: Date | string;
  /** The end of the range: no interval begins at or after it. */
  readonly to: Date | string;
  /** The length of an interval. */
  readonly every: Duration;
  /** The input of the run for the interval that begins here. */
  readonly input: (from: Date, to: Date) => In;
  /** The most runs at work at once, in the whole cluster. @default 1 */
  readonly concurrency?: number;
  /** Lower runs first. @default 0 */
  readonly priority?: number;
  /** Start the latest intervals first. @default the earliest */
  readonly latestFirst?: boolean;
}

/** How far a backfill is. */
export interface BackfillProgress {
  /** The number of its intervals. */
  readonly total: number;
  /** How many of their runs have ended. */
  readonly ended: number;
  /** How many runs are in each state. */
  readonly states: Readonly<Partial<Record<RunState, number>>>;
  /** Runs that ended otherwise than `completed`, with the start of their intervals. */
  readonly troubled: readonly { readonly from: Date; readonly runId: string; readonly state: RunState }[];
}

/** An interval could not be started: its input was refused, or its key belongs to a run with other input. */
export class BackfillRefused extends HoldfastError {
  readonly code = "BACKFILL_REFUSED";
  readonly from: Date;

  constructor(name: string, from: Date, cause: HoldfastError) {
    super(`Backfill ${JSON.stringify(name)}, interval ${from.toISOString()}: ${cause.message}`, { cause });
    this.from = from;
  }
}

const MOST_INTERVALS = 10_000;
/** Runs per call to the store. */
const PAGE = 500;
const LOOK_EVERY_MS = 1000;

/** One interval of a backfill. */
interface Interval {
  /** Its start. */
  readonly from: Date;
  /** The id of its run. */
  readonly runId: string;
}

/** A backfill that was started: its runs and their progress. */
export class Backfill {
  /** The name it was started with. */
  readonly name: string;
  /** The start of each interval and the id of its run, in the order of starting. */
  readonly intervals: readonly Interval[];
  readonly #store: Store;
  readonly #world: World;

  constructor(name: string, intervals: readonly Interval[], store: Store, world: World) {
    this.name = name;
    this.intervals = intervals;
    this.#store = store;
    this.#world = world;
  }

  /** How many runs have ended, their states, and those that need attention. */
  async progress(): Promise<BackfillProgress> {
    const states: Partial<Record<RunState, number>> = {};
    const troubled: BackfillProgress["troubled"][number][] = [];
    let ended = 0;
    for (let at = 0; at < this.intervals.length; at += PAGE) {
      const page = this.intervals.slice(at, at + PAGE);
      const glances = await this.#store.runs.glance(page.map(({ runId }) => runId));
      for (const [i, { from, runId }] of page.entries()) {
        // A run that is no longer there was pruned after its end.
        const state = glances[i]?.state ?? "completed";
        states[state] = (states[state] ?? 0) + 1;
        if (isEnded(state)) ended++;
        if (state === "quarantined" || (isEnded(state) && state !== "completed")) troubled.push({ from, runId, state });
      }
    }
    return { total: this.intervals.length, ended, states, troubled };
  }

  /** Waits until every run has ended, and reports the progress whenever it has changed. */
  async finished(
    options: { readonly onProgress?: (progress: BackfillProgress) => void } = {},
  ): Promise<BackfillProgress> {
    for (let last = ""; ; ) {
      const progress = await this.progress();
      const seen = JSON.stringify(progress.states);
      if (seen !== last) options.onProgress?.(progress);
      last = seen;
      if (progress.ended === progress.total) return progress;
      await sleep(this.#world, LOOK_EVERY_MS);
    }
  }
}

/** What a node and a client have of it. */
export interface BackfillParts {
  readonly runs: Runs;
  readonly store: Store;
  readonly world: World;
}

export async function startBackfill<In>(
  program: Startable,
  options: BackfillOptions<In>,
  { runs, store, world }: BackfillParts,
): Promise<Backfill> {
  const { name, concurrency = 1, priority = 0 } = options;
  if (typeof name !== "string" || name === "") throw new InvalidInput("name", "must name the backfill");
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new InvalidInput("concurrency", "must be a whole number of at least 1");
  const stepMs = toMs(options.every, "every");
  const starts = startsOf(options, stepMs);
  const slot: NewLimit = { kind: "slots", key: `backfill ${program.name} ${name}`, max: concurrency };
  const intervals: Interval[] = [];
  for (let at = 0; at < starts.length; at += PAGE) {
    const page = starts.slice(at, at + PAGE);
    const items = page.map((from) => {
      const input = options.input(from, new Date(from.getTime() + stepMs));
      return { input, key: `backfill ${name} ${from.toISOString()}`, priority };
    });
    const outcomes = await runs.startMany(program, items, undefined, [slot]);
    intervals.push(...outcomes.map((outcome, i) => ({ from: page[i]!, runId: runOf(outcome, name, page[i]!) })));
  }
  return new Backfill(name, intervals, store, world);
}

function startsOf({ from, to, latestFirst = false }: BackfillOptions<unknown>, stepMs: number): readonly Date[] {
  const [first, end] = [instantOf(from, "from"), instantOf(to, "to")];
  if (stepMs === 0) throw new InvalidInput("every", "must be more than 0");
  if (end <= first) throw new InvalidInput("to", "must be after `from`");
  const count = Math.ceil((end - first) / stepMs);
  if (count > MOST_INTERVALS)
    throw new InvalidInput("to", `is ${count} intervals away; the most are ${MOST_INTERVALS}`);
  const starts = Array.from({ length: count }, (_, i) => new Date(first + i * stepMs));
  return latestFirst ? starts.reverse() : starts;
}

function instantOf(value: Date | string, path: string): number {
  const ms = new Date(value).getTime();
  if (Number.isNaN(ms)) throw new InvalidInput(path, "must be a Date or an ISO 8601 text, like 2026-01-01");
  return ms;
}

function runOf(outcome: StartOutcome<unknown>, name: string, from: Date): string {
  if (outcome.outcome === "refused" || outcome.outcome === "conflict")
    throw new BackfillRefused(name, from, outcome.error);
  return outcome.run.id;
}

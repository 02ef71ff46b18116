// Figures of the store as pages show them: one row per step of time, with percentiles from counted durations.

import {
  DURATION_BOUNDS_MS,
  type EndedCounts,
  type Figures,
  STEPS_MS,
  type StepMs,
} from "../../store/contract/statistic/statistics.js";
import { iso } from "./iso.js";

export const RANGES = {
  "1h": { ms: 3_600_000, stepMs: 10_000 },
  "24h": { ms: 86_400_000, stepMs: 60_000 },
  "7d": { ms: 7 * 86_400_000, stepMs: 3_600_000 },
} as const satisfies Readonly<Record<string, { readonly ms: number; readonly stepMs: StepMs }>>;

/** The duration that this share of runs did not exceed, to within a bucket; null: none ended. */
export function percentileMs(durations: readonly number[], share: number): number | null {
  const all = durations.reduce((sum, n) => sum + n, 0);
  if (all === 0) return null;
  const wanted = share * all;
  let below = 0;
  for (const [i, n] of durations.entries()) {
    if (below + n >= wanted && n > 0) {
      const low = DURATION_BOUNDS_MS[i - 1] ?? 0;
      const high = DURATION_BOUNDS_MS[i] ?? low;
      return Math.round(low + (high - low) * Math.max((wanted - below) / n, 0));
    }
    below += n;
  }
  return DURATION_BOUNDS_MS.at(-1)!;
}

const failures = ({ failed, dead }: EndedCounts) => failed + dead;

/** Steps that are counted to their end; of the longest steps also the one that is under way, which would else show nothing for an hour. */
export function figureRows({ at, runs, queues }: Figures, stepMs: StepMs) {
  if (at === null) return [];
  const closed = Math.floor(at / STEPS_MS[0]) * STEPS_MS[0];
  const isShown = (one: { readonly at: number }) => one.at + (stepMs === STEPS_MS[2] ? 0 : stepMs) <= closed;
  const counts = new Map(runs.filter(isShown).map((one) => [one.at, one]));
  const depths = new Map(queues.filter(isShown).map((one) => [one.at, one]));
  const times = [...new Set([...counts.keys(), ...depths.keys()])].sort((a, b) => a - b);
  return times.map((time) => {
    const count = counts.get(time);
    const depth = depths.get(time);
    return {
      at: iso(time),
      started: count?.started ?? 0,
      completed: count?.completed ?? 0,
      failed: count ? failures(count) : 0,
      p95Ms: count ? percentileMs(count.durations, 0.95) : null,
      waiting: depth?.waiting ?? null,
      running: depth?.running ?? null,
      oldestMs: depth?.oldestMs ?? null,
    };
  });
}

export function programRow({ program, ...counts }: EndedCounts & { readonly program: string }) {
  const { started, completed, durations } = counts;
  return {
    program,
    started,
    completed,
    failed: failures(counts),
    p50Ms: percentileMs(durations, 0.5),
    p95Ms: percentileMs(durations, 0.95),
  };
}

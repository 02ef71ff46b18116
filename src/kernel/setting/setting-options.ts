// The settings of a node: their options, defaults and bounds.

import { type Duration, formatDuration, MAX_DURATION_MS, toMs } from "../duration.js";
import { HoldfastError } from "../error.js";

export type SettingName = keyof SettingOptions;

/** Options for users; each has a default. */
export interface SettingOptions {
  /** Runs executed at the same time. Default 10. */
  readonly concurrency?: number;
  /** Runs claimed ahead and kept ready in memory; at most `concurrency`. Default 0. */
  readonly prefetch?: number;
  /** How long a claim holds without renewal: bounds the takeover from a hung node. Default 15 s. */
  readonly lease?: Duration;
  /** Default: a third of the lease. */
  readonly renewEvery?: Duration;
  /** Between two rounds of heartbeat, presence check, reclaiming and waking. Default 1 s. */
  readonly housekeeping?: Duration;
  /** How long this node's presence lock and heartbeat may be missing before others reclaim its runs. Default 1 s. */
  readonly presenceGrace?: Duration;
  /** How long running work may continue after stop(). Default 30 s. */
  readonly shutdownGrace?: Duration;
  /** Claims in a row that may end in a crash before a run is dead. Default 5. */
  readonly crashLimit?: number;
  /** Between two polls for work while no notification arrives. Default 1 s. */
  readonly pollInterval?: Duration;
  /** What that interval grows to while there is no work. Default 5 s. */
  readonly pollMax?: Duration;
  /** Number of journal entries in one generation at which the node emits a warning. Default 10,000. */
  readonly historyWarning?: number;
  /** Number of journal entries at which a run is quarantined; it can still be read and cancelled. Default 50,000. */
  readonly historyLimit?: number;
}

export interface Settings {
  readonly concurrency: number;
  readonly prefetch: number;
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  readonly housekeepingMs: number;
  readonly presenceGraceMs: number;
  readonly shutdownGraceMs: number;
  readonly crashLimit: number;
  readonly pollIntervalMs: number;
  readonly pollMaxMs: number;
  readonly historyWarning: number;
  readonly historyLimit: number;
}

interface Bounds {
  readonly kind: "count" | "duration";
  readonly least: number;
  readonly most: number;
}

/** Below this, timers and round trips take longer than the interval. A grace period of 0 is allowed. */
const SHORTEST_MS = 10;
export const BOUNDS: Readonly<Record<SettingName, Bounds>> = {
  concurrency: { kind: "count", least: 1, most: 10_000 },
  prefetch: { kind: "count", least: 0, most: 10_000 },
  lease: { kind: "duration", least: SHORTEST_MS, most: MAX_DURATION_MS },
  renewEvery: { kind: "duration", least: 1, most: MAX_DURATION_MS },
  housekeeping: { kind: "duration", least: SHORTEST_MS, most: MAX_DURATION_MS },
  presenceGrace: { kind: "duration", least: 0, most: MAX_DURATION_MS },
  shutdownGrace: { kind: "duration", least: 0, most: MAX_DURATION_MS },
  crashLimit: { kind: "count", least: 1, most: 10_000 },
  pollInterval: { kind: "duration", least: SHORTEST_MS, most: MAX_DURATION_MS },
  pollMax: { kind: "duration", least: SHORTEST_MS, most: MAX_DURATION_MS },
  historyWarning: { kind: "count", least: 1, most: 1_000_000 },
  historyLimit: { kind: "count", least: 10, most: 1_000_000 },
};

/** The options as numbers. Problems are added to `problems`, by name. */
export function readOptions(
  options: SettingOptions,
  problems: Map<string, string>,
): Partial<Record<SettingName, number>> {
  const numbers: Partial<Record<SettingName, number>> = {};
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(BOUNDS, name)) {
      problems.set(name, `${name} is not a setting; the settings are ${Object.keys(BOUNDS).join(", ")}`);
    } else if (value !== undefined) {
      const bounds = BOUNDS[name as SettingName];
      const number = bounds.kind === "count" ? readCount(name, value, problems) : readDuration(name, value, problems);
      if (number !== undefined && expectWithin(bounds, name, number, problems)) numbers[name as SettingName] = number;
    }
  }
  return numbers;
}

function readCount(name: string, value: unknown, problems: Map<string, string>): number | undefined {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  problems.set(
    name,
    `${name} must be a whole number; it is ${typeof value === "number" ? value : `a ${typeof value}`}`,
  );
  return undefined;
}

function readDuration(name: string, value: unknown, problems: Map<string, string>): number | undefined {
  try {
    return toMs(value as Duration, name);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    problems.set(name, error.message);
    return undefined;
  }
}

function expectWithin(bounds: Bounds, name: string, value: number, problems: Map<string, string>): boolean {
  if (value >= bounds.least && value <= bounds.most) return true;
  const show = bounds.kind === "count" ? String : formatDuration;
  problems.set(name, `${name} must be from ${show(bounds.least)} to ${show(bounds.most)}; it is ${show(value)}`);
  return false;
}

/** Defaults depend on the given options, so that one changed setting does not contradict a default. */
export function withDefaults(given: Partial<Record<SettingName, number>>): Settings {
  const leaseMs = given.lease ?? 15_000;
  const pollIntervalMs = given.pollInterval ?? Math.min(1000, given.pollMax ?? 1000);
  return {
    concurrency: given.concurrency ?? 10,
    prefetch: given.prefetch ?? 0,
    leaseMs,
    renewEveryMs: given.renewEvery ?? Math.floor(leaseMs / 3),
    housekeepingMs: given.housekeeping ?? 1000,
    presenceGraceMs: given.presenceGrace ?? 1000,
    shutdownGraceMs: given.shutdownGrace ?? 30_000,
    crashLimit: given.crashLimit ?? 5,
    pollIntervalMs,
    pollMaxMs: given.pollMax ?? Math.max(pollIntervalMs, Math.min(5000, leaseMs)),
    historyWarning: given.historyWarning ?? Math.min(10_000, given.historyLimit ?? 10_000),
    historyLimit: given.historyLimit ?? Math.max(50_000, given.historyWarning ?? 50_000),
  };
}

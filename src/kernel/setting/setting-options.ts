// The numeric settings of a node: their groups, defaults and bounds.

import { type Duration, formatDuration, MAX_DURATION_MS, toMs } from "../duration.js";
import { HoldfastError } from "../error.js";
import type { Names } from "./option-names.js";

/** How many runs a node claims, and how its commits are gathered. */
export interface FlowSettings {
  /**
   * How many runs to claim ahead of a free slot, at most `concurrency`. A stop hands them back at once. Default:
   * as many as there are slots while runs end within milliseconds, otherwise none; with the recovery `fail` always none.
   */
  readonly prefetch?: number;
}

/** Leases, intervals and graces of a node. */
export interface TimingOptions {
  /** How long a claim is valid without a renewal. The runs of a node that hangs wait this long. @default 15 s */
  readonly lease?: Duration;
  /** How often the claims of this node are renewed. @default a third of `lease` */
  readonly renewEvery?: Duration;
  /** How often this node sends a heartbeat, looks for missing nodes, reclaims their runs and wakes parked ones. @default 1 s */
  readonly housekeeping?: Duration;
  /** How long the presence lock of this node may be missing before other nodes reclaim its runs. @default 1 s */
  readonly presenceGrace?: Duration;
  /** How long running work may continue after `stop()` before it is aborted. @default 30 s */
  readonly shutdownGrace?: Duration;
  /** How often this node asks for work while no notification arrives. @default 1 s */
  readonly pollInterval?: Duration;
  /** The longest such interval: it grows while there is no work. @default 5 s, but not longer than `lease` */
  readonly pollMax?: Duration;
  /** How long a timer of a state machine that this node has claimed is left to it, when the node hangs. @default 5 s */
  readonly timerClaim?: Duration;
}

/** When a run is dead or quarantined. */
export interface RecoverySettings {
  /** How many claims of a run in a row may end in a crash before the run is dead. @default 5 */
  readonly crashLimit?: number;
  /** The number of journal entries of one generation from which `run.history_long` is emitted. @default 10,000 */
  readonly historyWarning?: number;
  /** The number of journal entries at which a run is quarantined. It can still be read and cancelled. @default 50,000 */
  readonly historyLimit?: number;
}

/** What a user may set, by group. Every setting has a default. */
export interface SettingOptions {
  /** How many runs this node works on at the same time. @default 10 */
  readonly concurrency?: number;
  readonly flow?: FlowSettings;
  readonly timing?: TimingOptions;
  readonly recovery?: RecoverySettings;
}

/** The path of a setting in the options, for example `timing.lease`. */
export type SettingName =
  | "concurrency"
  | `flow.${keyof FlowSettings}`
  | `timing.${keyof TimingOptions}`
  | `recovery.${keyof RecoverySettings}`;

/** The settings as numbers; durations in milliseconds. */
export type Settings = Readonly<ReturnType<typeof withDefaults>>;

interface Bounds {
  readonly kind: "count" | "duration";
  readonly least: number;
  readonly most: number;
}

/** Timers and round trips take longer than a shorter interval. A grace of 0 is allowed. */
const SHORTEST_MS = 10;
export const BOUNDS: Readonly<Record<SettingName, Bounds>> = {
  concurrency: { kind: "count", least: 1, most: 10_000 },
  "flow.prefetch": { kind: "count", least: 0, most: 10_000 },
  "timing.lease": { kind: "duration", least: SHORTEST_MS, most: MAX_DURATION_MS },
  "timing.renewEvery": { kind: "duration", least: 1, most: MAX_DURATION_MS },
  "timing.housekeeping": { kind: "duration", least: SHORTEST_MS, most: MAX_DURATION_MS },
  "timing.presenceGrace": { kind: "duration", least: 0, most: MAX_DURATION_MS },
  "timing.shutdownGrace": { kind: "duration", least: 0, most: MAX_DURATION_MS },
  "timing.pollInterval": { kind: "duration", least: SHORTEST_MS, most: MAX_DURATION_MS },
  "timing.pollMax": { kind: "duration", least: SHORTEST_MS, most: MAX_DURATION_MS },
  "timing.timerClaim": { kind: "duration", least: 100, most: 3_600_000 },
  "recovery.crashLimit": { kind: "count", least: 1, most: 10_000 },
  "recovery.historyWarning": { kind: "count", least: 1, most: 1_000_000 },
  "recovery.historyLimit": { kind: "count", least: 10, most: 1_000_000 },
};

/** Every setting, by group. */
export const SETTING_NAMES = (() => {
  const names: Record<string, true | Record<string, true>> = {};
  for (const path of Object.keys(BOUNDS)) {
    const [first, second] = path.split(".") as [string, string?];
    names[first] = second === undefined ? true : { ...(names[first] as Record<string, true>), [second]: true };
  }
  return names as {
    readonly concurrency: true;
    readonly flow: Names<FlowSettings>;
    readonly timing: Names<TimingOptions>;
    readonly recovery: Names<RecoverySettings>;
  };
})();

/** The settings as numbers. What is wrong with one is added to `problems`, under its path. */
export function readOptions(
  options: SettingOptions,
  problems: Map<string, string>,
): Partial<Record<SettingName, number>> {
  const numbers: Partial<Record<SettingName, number>> = {};
  for (const [path, bounds] of Object.entries(BOUNDS)) {
    const value = valueAt(options, path);
    if (value === undefined) continue;
    const number = bounds.kind === "count" ? readCount(path, value, problems) : readDuration(path, value, problems);
    if (number !== undefined && expectWithin(bounds, path, number, problems)) numbers[path as SettingName] = number;
  }
  return numbers;
}

function valueAt(options: object, path: string): unknown {
  const [first, second] = path.split(".") as [string, string?];
  const value = (options as Readonly<Record<string, unknown>>)[first];
  return second === undefined ? value : (value as Readonly<Record<string, unknown>> | null | undefined)?.[second];
}

function readCount(path: string, value: unknown, problems: Map<string, string>): number | undefined {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  const given = typeof value === "number" ? value : `a ${typeof value}`;
  problems.set(path, `${path} must be a whole number; it is ${given}`);
  return undefined;
}

function readDuration(path: string, value: unknown, problems: Map<string, string>): number | undefined {
  try {
    return toMs(value as Duration, path);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    problems.set(path, error.message);
    return undefined;
  }
}

function expectWithin(bounds: Bounds, path: string, value: number, problems: Map<string, string>): boolean {
  if (value >= bounds.least && value <= bounds.most) return true;
  const show = bounds.kind === "count" ? String : formatDuration;
  problems.set(path, `${path} must be from ${show(bounds.least)} to ${show(bounds.most)}; it is ${show(value)}`);
  return false;
}

/** A default depends on the settings that are given, so that it never contradicts one of them. */
export function withDefaults(given: Partial<Record<SettingName, number>>) {
  const { "timing.lease": leaseMs = 15_000, "timing.pollMax": pollMax } = given;
  const { "recovery.historyWarning": warning, "recovery.historyLimit": limit } = given;
  const pollIntervalMs = given["timing.pollInterval"] ?? Math.min(1000, pollMax ?? 1000);
  return {
    concurrency: given.concurrency ?? 10,
    prefetch: given["flow.prefetch"] ?? null,
    leaseMs,
    renewEveryMs: given["timing.renewEvery"] ?? Math.floor(leaseMs / 3),
    housekeepingMs: given["timing.housekeeping"] ?? 1000,
    presenceGraceMs: given["timing.presenceGrace"] ?? 1000,
    shutdownGraceMs: given["timing.shutdownGrace"] ?? 30_000,
    pollIntervalMs,
    pollMaxMs: pollMax ?? Math.max(pollIntervalMs, Math.min(5000, leaseMs)),
    timerClaimMs: given["timing.timerClaim"] ?? 5000,
    crashLimit: given["recovery.crashLimit"] ?? 5,
    historyWarning: warning ?? Math.min(10_000, limit ?? 10_000),
    historyLimit: limit ?? Math.max(50_000, warning ?? 50_000),
  };
}

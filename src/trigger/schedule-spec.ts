// A schedule as data: its key within its program, its windows, and the text it is stored as.

import type { CronSpec, IntervalSpec, TriggerSpec } from "./trigger.js";
import { cronWindows, intervalWindows, type Windows } from "./windows.js";

export type ScheduleSpec = CronSpec | IntervalSpec;

export function isSchedule(spec: TriggerSpec): spec is ScheduleSpec {
  return spec.kind === "cron" || spec.kind === "every";
}

/**
 * `cron 0 2 * * * (Europe/Berlin)`, `every 5m`. Only the times: a schedule with another catch-up policy is the same
 * schedule.
 */
export function scheduleKey(spec: ScheduleSpec): string {
  return spec.kind === "cron" ? `cron ${spec.line} (${spec.timezone})` : `every ${shortest(spec.everyMs)}`;
}

/** An interval's windows are counted from the anchor; a cron line has none. */
export function windowsOf(spec: ScheduleSpec, anchor: number): Windows {
  return spec.kind === "cron" ? cronWindows(spec.line, spec.timezone) : intervalWindows(spec.everyMs, anchor);
}

export function writeSpec(spec: ScheduleSpec): string {
  return JSON.stringify(spec);
}

export function readSpec(text: string): ScheduleSpec {
  return JSON.parse(text) as ScheduleSpec;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

function shortest(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms % size === 0) ?? (["ms", 1] as const);
  return `${ms / size}${unit}`;
}

// When a schedule is due: the instants ("windows") of a cron line or an interval, one after the other.
//
// A window is an instant in milliseconds. Windows depend only on the schedule, never on which node computes them or
// when.

import { Cron } from "croner";
import { InvalidInput } from "../kernel/error.js";

export interface Windows {
  /** The first window after this instant; null when there are no more. */
  next(after: number): number | null;
  /** The last window at or before this instant, not before `since`; null when there is none. */
  latest(since: number, now: number): number | null;
}

/**
 * Five fields, or six with seconds first, in a time zone.
 *
 * When clocks go forward, a time that does not exist is due when the gap ends: 02:30 in Berlin on the last Sunday of March at
 * 03:00. When they go back, a time that comes twice is due the first time; a line for every hour is due in both hours.
 */
export function cronWindows(line: string, timezone: string): Windows {
  const { cron, first } = parse(line, timezone);
  if (first === null) throw new InvalidInput("cron", `${JSON.stringify(line)} is never due`);
  const next = (after: number) => cron.nextRun(new Date(after))?.getTime() ?? null;
  return { next, latest: (since, now) => latestBySearch(next, since, now) };
}

/** The start of 2020: a line whose years all lie before that is a mistake, too. */
const EPOCH = Date.UTC(2020, 0, 1);

/** An unknown time zone fails at the first computation. */
function parse(line: string, timezone: string): { readonly cron: Cron; readonly first: Date | null } {
  if (line.length > 200) throw new InvalidInput("cron", "must not be longer than 200 characters");
  try {
    const cron = new Cron(line, { timezone, paused: true });
    return { cron, first: cron.nextRun(new Date(EPOCH)) };
  } catch (error) {
    throw new InvalidInput("cron", `${JSON.stringify(line)} in ${timezone}: ${(error as Error).message}`);
  }
}

/** Bisects: a line is evaluated a few dozen times, however many windows were missed. */
function latestBySearch(next: Windows["next"], since: number, now: number): number | null {
  let found = next(since - 1);
  if (found === null || found > now) return null;
  let [low, high] = [found, now];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const window = next(middle - 1);
    if (window !== null && window <= now) {
      found = window;
      low = window + 1;
    } else high = middle - 1;
  }
  return found;
}

/** Every `everyMs`, counted from the anchor. */
export function intervalWindows(everyMs: number, anchor: number): Windows {
  const atOrBefore = (instant: number) => anchor + Math.floor((instant - anchor) / everyMs) * everyMs;
  return {
    next: (after) => Math.max(atOrBefore(after) + everyMs, anchor),
    latest: (since, now) => {
      const window = atOrBefore(now);
      return window >= Math.max(since, anchor) ? window : null;
    },
  };
}

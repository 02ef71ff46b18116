// Which windows of a schedule make a run now, which are left out, and when to look again. Pure.

import type { Windows } from "./windows.js";

/** What happens to windows that nobody was there for: none of them, only the last, or each. */
export type CatchUp = "none" | "last" | "all";

export interface Due {
  /** The last window that was decided on; windows up to it are history. */
  readonly last: number;
  readonly now: number;
  readonly catchUp: CatchUp;
  /** Windows that are made up for in one round at most. */
  readonly limit: number;
}

export interface Fires {
  /** Oldest first. */
  readonly windows: readonly number[];
  /** Decided up to here. */
  readonly last: number;
  /** When to decide again; at once when more is to be made up for. Null: never. */
  readonly next: number | null;
  /** Whether windows before the first fired one were left out. */
  readonly skipped: boolean;
}

/** With `none`: a window that is later than this was missed. A takeover or a restart is quicker. */
export const MISSED_AFTER_MS = 60_000;

export function decideFires(windows: Windows, { last, now, catchUp, limit }: Due): Fires {
  const first = windows.next(last);
  if (first === null || first > now) return { windows: [], last, next: first, skipped: false };
  if (catchUp === "all") return each(windows, first, now, limit);
  const latest = windows.latest(first, now) ?? first;
  const missed = catchUp === "none" && now - latest > MISSED_AFTER_MS;
  return {
    windows: missed ? [] : [latest],
    last: latest,
    next: windows.next(latest),
    skipped: missed || latest > first,
  };
}

function each(windows: Windows, first: number, now: number, limit: number): Fires {
  const fired: number[] = [];
  let next: number | null = first;
  while (next !== null && next <= now && fired.length < limit) {
    fired.push(next);
    next = windows.next(next);
  }
  return { windows: fired, last: fired.at(-1)!, next, skipped: false };
}

// Decides which windows of a schedule start a run now, which are skipped, and when to decide again. Pure.

import type { Windows } from "./windows.js";

/** What happens to windows at which no node was running: none of them, only the last, or each is caught up. */
export type CatchUp = "none" | "last" | "all";

export interface Due {
  /** The last decided window; windows up to it are not considered again. */
  readonly last: number;
  readonly now: number;
  readonly catchUp: CatchUp;
  /** The most windows caught up in one round. */
  readonly limit: number;
}

export interface Fires {
  /** Oldest first. */
  readonly windows: readonly number[];
  /** Decided up to here. */
  readonly last: number;
  /** When to decide again; immediately if more windows are to be caught up. Null: never. */
  readonly next: number | null;
  /** Whether windows before the first fired one were skipped. */
  readonly skipped: boolean;
}

/** With `none`: a window later than this was missed. A takeover or a restart is faster. */
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

// Crash accounting: after how many crashes a run is executed alone, when it is dead, and how long a run waits whose
// live holders keep losing it.

import type { StoredError } from "../codec/recorded-error.js";

/** A run with this many crashes is a suspect: at the latest one crash short of the limit, never before the first. */
export function suspectFrom(crashLimit: number): number {
  return Math.max(1, Math.min(2, crashLimit - 1));
}

/**
 * A crash next to other runs may be theirs. So a run at its limit is dead only if its process held nothing else; a run
 * that was never alone is dead at twice its limit. With a limit of one, the first crash is the last.
 */
export const NOT_ALONE_FACTOR = 2;

/** Claims reclaimed from the same holder within this time count as one crash of the same process. */
export const SAME_CRASH_MS = 60_000;

/** How many of the dead holders are named. */
export const NAMED_HOLDERS = 20;

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
/** Beyond this, doubling has reached the longest delay. */
export const MOST_LOSSES = 6;

/** `losses`: how many live holders in a row lost the run before this one, without progress. */
export function delayAfterLosses(losses: number): number {
  return losses === 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (losses - 1), LONGEST_DELAY_MS);
}

export interface DeadHolder {
  readonly epoch: number;
  readonly incarnation: string;
  /** Null: the node is no longer registered. */
  readonly node: string | null;
}

/** The payload of a dead run's last entry; the store writes the fields in this order. */
export interface CrashReason {
  readonly code: "CRASH_LIMIT";
  readonly crashes: number;
  /** The most recent ones, oldest first. */
  readonly holders: readonly DeadHolder[];
}

export function crashReason(crashes: number, holders: readonly DeadHolder[]): CrashReason {
  const named = holders.map(({ epoch, incarnation, node }) => ({ epoch, incarnation, node }));
  return { code: "CRASH_LIMIT", crashes, holders: named };
}

/** For people. */
export function crashMessage({ crashes, holders = [] }: Partial<CrashReason>, what: "run" | "task"): string {
  const names = holders.map(({ node, incarnation }) => `${node ?? "unknown"} (${incarnation})`);
  const where = names.length > 0 ? `: ${names.join(", ")}` : "";
  return `The process that held this ${what} died ${crashes} times in a row${where}.`;
}

/** The stored error in place of a result. */
export function crashLimit(reason: Partial<CrashReason>, what: "run" | "task"): StoredError {
  const { crashes, holders } = reason;
  return {
    name: "CrashLimit",
    code: "CRASH_LIMIT",
    message: crashMessage(reason, what),
    details: { crashes, holders },
  };
}

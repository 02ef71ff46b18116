// Crashes and suspicion: from how many crashes on a run is executed alone, when it is dead, and how long a run waits whose
// holders lose it while they live.

import type { StoredError } from "../codec/recorded-error.js";

/** A run with so many crashes behind it is a suspect. One crash short of the limit at the latest; never before the first. */
export function suspectFrom(crashLimit: number): number {
  return Math.max(1, Math.min(2, crashLimit - 1));
}

/**
 * A crash beside other runs may be theirs. So a run at its limit is dead only if its process held nothing else; one that
 * never is alone there is dead at twice its limit. The first crash of a limit of one is the last: its attempt is the only one.
 */
export const BESIDE_OTHERS = 2;

/** What was taken from the same holder so long ago was still in the same process. */
export const SAME_CRASH_MS = 60_000;

/** How many of the processes that died are named. */
export const NAMED_HOLDERS = 20;

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
/** Beyond this, doubling has reached the longest delay. */
export const MOST_LOSSES = 6;

/** `losses`: how many live holders in a row have lost it before this one, without progress. */
export function delayAfterLosses(losses: number): number {
  return losses === 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (losses - 1), LONGEST_DELAY_MS);
}

export interface DeadHolder {
  readonly epoch: number;
  readonly incarnation: string;
  /** Null: it is not registered any more. */
  readonly node: string | null;
}

/** What the last entry of a dead run says; the store writes it, in this order. */
export interface CrashReason {
  readonly code: "CRASH_LIMIT";
  readonly crashes: number;
  /** The last of them, the oldest first. */
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

/** As it is told in place of a result. */
export function crashLimit(reason: Partial<CrashReason>, what: "run" | "task"): StoredError {
  const { crashes, holders } = reason;
  return {
    name: "CrashLimit",
    code: "CRASH_LIMIT",
    message: crashMessage(reason, what),
    details: { crashes, holders },
  };
}

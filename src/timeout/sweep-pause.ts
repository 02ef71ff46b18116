// Computes how long a sweeper pauses and how long a timeout is put off after its handler failed. Pure: randomness is a parameter.

import { retryDelayMs, retryPolicy } from "../kernel/run/retry.js";
import type { SweeperSettings } from "./sweeper-options.js";

/** Timeouts with nearly the same deadline are fired in one look. */
const SHORTEST_PAUSE_MS = 10;

/** 1 s after the first failure, doubled up to 5 min: a handler that always fails costs a claim every five minutes. */
const PUT_OFF = retryPolicy({ delay: "1s", maxDelay: "5m" });

export interface Swept {
  /** How many were due. */
  readonly found: number;
  readonly nextInMs: number | null;
}

/** `interval + random(0, jitter × interval)`, and the back-off when nothing was due; never past the next known deadline. */
export function pauseMs(
  settings: Pick<SweeperSettings, "sweepIntervalMs" | "jitterFactor" | "backoffOnEmptyMs">,
  { found, nextInMs }: Swept,
  random: () => number,
): number {
  const { sweepIntervalMs, jitterFactor, backoffOnEmptyMs } = settings;
  const jitterMs = random() * jitterFactor * sweepIntervalMs;
  const longest = sweepIntervalMs + jitterMs + (found === 0 ? backoffOnEmptyMs : 0);
  return Math.min(longest, Math.max(nextInMs ?? longest, SHORTEST_PAUSE_MS));
}

/** After full looks whose handlers all failed: short, because timeouts behind them wait, but not zero, which would spin. */
export function fruitlessPauseMs({ sweepIntervalMs }: Pick<SweeperSettings, "sweepIntervalMs">, looks: number): number {
  return Math.min(SHORTEST_PAUSE_MS * 2 ** (looks - 1), sweepIntervalMs);
}

export function putOffMs(attempts: number, random: () => number): number {
  return retryDelayMs(PUT_OFF, attempts, random);
}

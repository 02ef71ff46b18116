// A circuit breaker as data: how many failures in a row stop triggers from starting runs, and when a probe may run.

import { type Duration, toMs } from "./duration.js";
import { InvalidInput } from "./error.js";

/** Stops triggers from starting runs of a program that keeps failing. */
export interface CircuitBreaker {
  /** Failures in a row before the breaker opens. */
  readonly threshold: number;
  /** How long after the last failure one run may probe. */
  readonly halfOpenAfter: Duration;
  /** When it opens, also cancel the program's running runs. @default false */
  readonly cancelRunning?: boolean;
}

export interface BreakerRule {
  readonly threshold: number;
  readonly halfOpenMs: number;
}

/** Bounded, because the store looks up one failure for each. */
const MOST = 1000;

export function breakerRule(breaker: CircuitBreaker): BreakerRule & { readonly cancelRunning: boolean } {
  if (typeof breaker !== "object" || breaker === null) {
    throw new InvalidInput("circuitBreaker", 'must be like { threshold: 5, halfOpenAfter: "1m" }');
  }
  const { threshold, halfOpenAfter, cancelRunning = false } = breaker;
  if (!Number.isInteger(threshold) || threshold < 1 || threshold > MOST) {
    throw new InvalidInput("circuitBreaker.threshold", `must be a whole number from 1 to ${MOST}`);
  }
  return { threshold, halfOpenMs: toMs(halfOpenAfter, "circuitBreaker.halfOpenAfter"), cancelRunning };
}

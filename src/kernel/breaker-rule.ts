// A circuit breaker as data: after how many failures in a row triggers start nothing more, and when one may try again.

import { type Duration, toMs } from "./duration.js";
import { InvalidInput } from "./error.js";

export interface CircuitBreaker {
  /** Runs that fail one after the other before it opens. */
  readonly threshold: number;
  /** How long after the last failure one run may try. */
  readonly halfOpenAfter: Duration;
  /** When it opens, also cancel the runs of the program that are under way. Default: false. */
  readonly cancelRunning?: boolean;
}

export interface BreakerRule {
  readonly threshold: number;
  readonly halfOpenMs: number;
}

/** A failure is looked up for each of them. */
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

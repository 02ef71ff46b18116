// Retry policies: when to try again after a failure, and how often. Pure: randomness is a parameter.

import { type Duration, toMs } from "../duration.js";
import { InvalidInput } from "../error.js";

export type Backoff = "fixed" | "linear" | "exponential";

/** What a user writes. A number means that many attempts in all, the first one included. */
export type Retry = number | RetryRule;

/** How a failure is tried again: attempts, delay and back-off. */
export interface RetryRule {
  /** In all, the first one included: 1 means no retry. @default 3 */
  readonly attempts?: number;
  /** How the delay grows. @default exponential */
  readonly backoff?: Backoff;
  /** Before the second attempt. @default 1 s */
  readonly delay?: Duration;
  /** No delay is longer than this. @default 1 h, or `delay` if that is longer */
  readonly maxDelay?: Duration;
  /** Exponential only: each delay is this many times the one before. @default 2 */
  readonly factor?: number;
  /** 0 to 1: the share of each delay that is random. @default 0.2 */
  readonly jitter?: number;
}

const MAX_ATTEMPTS = 1_000_000;
const DEFAULT_CAP_MS = 3_600_000;
const BACKOFFS: readonly unknown[] = ["fixed", "linear", "exponential"] satisfies Backoff[];
const OPTIONS = ["attempts", "backoff", "delay", "maxDelay", "factor", "jitter"] satisfies (keyof RetryRule)[];

export type RetryPolicy = Readonly<ReturnType<typeof retryPolicy>>;

export function retryPolicy(retry: Retry = {}, path = "retry") {
  const options: RetryRule = typeof retry === "number" ? { attempts: retry } : retry;
  expectOptions(options, path);
  const { attempts = 3, backoff = "exponential", factor = 2, jitter = 0.2 } = options;
  const delayMs = toMs(options.delay ?? 1000, `${path}.delay`);
  const maxDelayMs = toMs(options.maxDelay ?? Math.max(DEFAULT_CAP_MS, delayMs), `${path}.maxDelay`);

  if (!Number.isInteger(attempts) || attempts < 1 || attempts > MAX_ATTEMPTS) {
    const rule = `must be a whole number from 1 (no retry) to ${MAX_ATTEMPTS}, including the first attempt`;
    throw new InvalidInput(typeof retry === "number" ? path : `${path}.attempts`, `${rule}; it is ${String(attempts)}`);
  }
  if (!BACKOFFS.includes(backoff)) {
    throw new InvalidInput(`${path}.backoff`, `must be "fixed", "linear" or "exponential"; it is ${String(backoff)}`);
  }
  if (options.factor !== undefined && backoff !== "exponential") {
    throw new InvalidInput(`${path}.factor`, `has no effect with backoff "${backoff}"; omit it`);
  }
  if (typeof factor !== "number" || !(factor >= 1 && factor <= 1000)) {
    throw new InvalidInput(`${path}.factor`, `must be a number from 1 to 1000; it is ${String(factor)}`);
  }
  if (typeof jitter !== "number" || !(jitter >= 0 && jitter <= 1)) {
    throw new InvalidInput(`${path}.jitter`, `must be a number from 0 to 1; it is ${String(jitter)}`);
  }
  if (maxDelayMs < delayMs) {
    throw new InvalidInput(`${path}.maxDelay`, `is ${maxDelayMs} ms, shorter than delay (${delayMs} ms); raise it`);
  }
  return { attempts, backoff, delayMs, maxDelayMs, factor, jitter };
}

function expectOptions(options: unknown, path: string): void {
  if (typeof options !== "object" || options === null) {
    throw new InvalidInput(path, 'must be a number of attempts or an object like { attempts: 5, delay: "2s" }');
  }
  for (const name of Object.keys(options)) {
    if ((OPTIONS as string[]).includes(name)) continue;
    throw new InvalidInput(`${path}.${name}`, `is not a retry option; the options are ${OPTIONS.join(", ")}`);
  }
}

/**
 * The delay after the given number of failures (1 or more). Jitter only shortens it: it stays within the cap, and runs
 * that all wait for the cap are still spread (clamping afterwards would put half of them on the same instant).
 */
export function retryDelayMs(policy: RetryPolicy, failures: number, random: () => number): number {
  const full = Math.min(uncappedDelayMs(policy, Math.max(failures, 1)), policy.maxDelayMs);
  const taken = full * policy.jitter * Math.min(Math.max(random(), 0), 1);
  return Math.round(full - taken);
}

function uncappedDelayMs({ backoff, delayMs, factor }: RetryPolicy, failures: number): number {
  if (delayMs === 0 || backoff === "fixed") return delayMs;
  // A huge power is Infinity, which the cap handles.
  return backoff === "linear" ? delayMs * failures : delayMs * factor ** (failures - 1);
}

/** A number from 0 to 1 derived from a text: randomness that is the same on every node. */
export function spread(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0) / 2 ** 32;
}

/** How many attempts remain after the given number of failures. */
export function attemptsLeft(policy: RetryPolicy, failures: number): number {
  return Math.max(policy.attempts - failures, 0);
}

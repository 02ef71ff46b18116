// Retry policies: what a user may write, and the resulting delays.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HoldfastError, InvalidInput } from "../../src/kernel/error.js";
import {
  attemptsLeft,
  type Retry,
  type RetryRule,
  retryDelayMs,
  retryPolicy,
  spread,
} from "../../src/kernel/run/retry.js";
import { systemWorld } from "../../src/kernel/system-world.js";

const DEFAULTS = { attempts: 3, backoff: "exponential", delayMs: 1000, maxDelayMs: 3_600_000, factor: 2, jitter: 0.2 };
const never = () => 0;

describe("retryPolicy", () => {
  it.each<[Retry | undefined, object]>([
    [undefined, {}],
    [{}, {}],
    [1, { attempts: 1 }],
    [
      { attempts: 5, backoff: "fixed", delay: "2s" },
      { attempts: 5, backoff: "fixed", delayMs: 2000 },
    ],
    [{ delay: "2h" }, { delayMs: 7_200_000, maxDelayMs: 7_200_000 }],
    [
      { delay: 0, maxDelay: 0, jitter: 0 },
      { delayMs: 0, maxDelayMs: 0, jitter: 0 },
    ],
    [
      { factor: 1.5, jitter: 1 },
      { factor: 1.5, jitter: 1 },
    ],
  ])("reads %j", (retry, expected) => expect(retryPolicy(retry)).toEqual({ ...DEFAULTS, ...expected }));

  it.each<[unknown, string]>([
    [0, "step.retry"],
    [-1, "step.retry"],
    [1.5, "step.retry"],
    [Number.NaN, "step.retry"],
    [Number.POSITIVE_INFINITY, "step.retry"],
    ["3", "step.retry"],
    [null, "step.retry"],
    [true, "step.retry"],
    [{ attempts: 0 }, "step.retry.attempts"],
    [{ attempts: "3" }, "step.retry.attempts"],
    [{ attempts: 1_000_001 }, "step.retry.attempts"],
    [{ backoff: "cubic" }, "step.retry.backoff"],
    [{ delay: "-1s" }, "step.retry.delay"],
    [{ delay: "1 second" }, "step.retry.delay"],
    [{ maxDelay: Number.NaN }, "step.retry.maxDelay"],
    [{ delay: "10s", maxDelay: "5s" }, "step.retry.maxDelay"],
    [{ maxDelay: 500 }, "step.retry.maxDelay"],
    [{ factor: 0.5 }, "step.retry.factor"],
    [{ factor: Number.NaN }, "step.retry.factor"],
    [{ factor: 2, backoff: "linear" }, "step.retry.factor"],
    [{ jitter: 1.1 }, "step.retry.jitter"],
    [{ jitter: -0.1 }, "step.retry.jitter"],
    [{ attempt: 3 }, "step.retry.attempt"],
  ])("refuses %j at %s", (retry, path) => {
    try {
      retryPolicy(retry as Retry, "step.retry");
      expect.fail("nothing was thrown");
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidInput);
      expect(error).toMatchObject({ path });
    }
  });

  it("never throws anything but a typed error", () => {
    fc.assert(
      fc.property(fc.anything(), (retry) => {
        try {
          retryPolicy(retry as Retry);
        } catch (error) {
          expect(error).toBeInstanceOf(HoldfastError);
        }
      }),
    );
  });
});

describe("retryDelayMs", () => {
  const delays = (options: RetryRule, failures: number[]) =>
    failures.map((count) => retryDelayMs(retryPolicy({ jitter: 0, ...options }), count, never));

  it.each<[RetryRule, number[]]>([
    [{ backoff: "fixed" }, [1000, 1000, 1000, 1000]],
    [{ backoff: "linear" }, [1000, 2000, 3000, 4000]],
    [{ backoff: "exponential" }, [1000, 2000, 4000, 8000]],
    [{ factor: 10, maxDelay: "5s" }, [1000, 5000, 5000, 5000]],
    [{ delay: 0 }, [0, 0, 0, 0]],
  ])("grows as %j says", (options, expected) => expect(delays(options, [1, 2, 3, 4])).toEqual(expected));

  it("takes jitter away from the full delay", () => {
    const policy = retryPolicy({ jitter: 0.2, delay: "10s", backoff: "fixed" });
    expect([0, 0.5, 1].map((chance) => retryDelayMs(policy, 1, () => chance))).toEqual([10_000, 9000, 8000]);
  });

  it("spreads runs that have reached the cap", () => {
    const policy = retryPolicy({ maxDelay: "10s" });
    const chances = Array.from({ length: 100 }, (_, i) => i / 100);
    expect(new Set(chances.map((chance) => retryDelayMs(policy, 50, () => chance))).size).toBe(100);
  });

  it("is whole, not negative and inside the cap for every policy, count and chance", () => {
    const options = fc.record(
      {
        backoff: fc.constantFrom("fixed", "linear", "exponential" as const),
        delay: fc.nat(100_000),
        maxDelay: fc.integer({ min: 100_000, max: 1_000_000_000 }),
        jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      },
      { requiredKeys: [] },
    );
    const failures = fc.oneof(
      fc.nat(),
      fc.constantFrom(0, 1, 1e9, 2 ** 53, Number.MAX_VALUE, Number.POSITIVE_INFINITY),
    );
    fc.assert(
      fc.property(options, failures, fc.double({ min: 0, max: 1, noNaN: true }), (given, count, chance) => {
        const policy = retryPolicy(given as RetryRule);
        const delay = retryDelayMs(policy, count, () => chance);
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(policy.maxDelayMs);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a storm of retries", () => {
  it("of ten thousand runs that fail at the same moment is spread evenly over a fifth of the delay (F66)", () => {
    const world = systemWorld();
    const policy = retryPolicy({ delay: "10s", backoff: "fixed" });
    const delays = Array.from({ length: 10_000 }, () => retryDelayMs(policy, 1, () => spread(`${world.id()}:3`)));
    expect(Math.max(...delays)).toBeLessThanOrEqual(10_000);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(8_000);
    const counts = new Map<number, number>();
    for (const delay of delays) counts.set(Math.floor(delay / 100), (counts.get(Math.floor(delay / 100)) ?? 0) + 1);
    // Twenty windows of 100 ms: 500 runs each.
    expect(Math.max(...counts.values())).toBeLessThan(650);
  });
});

describe("attemptsLeft", () => {
  it.each([
    [0, 3],
    [1, 2],
    [3, 0],
    [4, 0],
    [1e9, 0],
  ])("after %d failures of 3 attempts is %d", (failures, left) => {
    expect(attemptsLeft(retryPolicy(3), failures)).toBe(left);
  });
});

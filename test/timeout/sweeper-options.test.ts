// Options of a sweeper, what it rejects, and how long it pauses.

import { describe, expect, test } from "vitest";
import { InvalidInput } from "../../src/kernel/error.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { FakeClaims } from "../../src/testing/fake-claims.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import { pauseMs, putOffMs } from "../../src/timeout/sweep-pause.js";
import { TimeoutSweeper } from "../../src/timeout/sweeper.js";
import { type SweeperOptions, sweeperSettings } from "../../src/timeout/sweeper-options.js";

const store = timeoutStore(memoryStore(), { scope: "order" });
const make = (options: object) => () => new TimeoutSweeper({ store, fire: async () => "fired", ...options });
const settings = (options: Partial<SweeperOptions> = {}) =>
  sweeperSettings({ store, fire: async () => "fired", ...options });

test("without options a sweeper has the documented defaults", () => {
  expect(settings()).toMatchObject({
    sweepIntervalMs: 5_000,
    jitterFactor: 0.2,
    backoffOnEmptyMs: 0,
    batchSize: 100,
    claimMs: 30_000,
    maxAttempts: 20,
    concurrency: 10,
    election: null,
  });
  expect(settings().nodeId).not.toBe(settings().nodeId);
});

const REFUSED: readonly [object, RegExp][] = [
  [{ jitterFactor: -0.01 }, /jitterFactor: must be from 0 to 1; it is -0.01/],
  [{ jitterFactor: 1.01 }, /jitterFactor/],
  [{ jitterFactor: Number.NaN }, /jitterFactor/],
  [{ batchSize: 0 }, /batchSize: must be a whole number from 1 to 1000; it is 0/],
  [{ batchSize: 1.5 }, /batchSize/],
  [{ batchSize: 1_001 }, /batchSize/],
  [{ claimDuration: 0 }, /claimDuration: must be 10 ms or more; it is 0 ms/],
  [{ claimDuration: -1 }, /claimDuration/],
  [{ sweepInterval: 0 }, /sweepInterval: must be 1 ms or more/],
  [{ sweepInterval: "5 seconds" }, /sweepInterval/],
  [{ backoffOnEmpty: -1 }, /backoffOnEmpty/],
  [{ maxAttempts: 0 }, /maxAttempts: must be a whole number from 1/],
  [{ concurrency: 0 }, /concurrency/],
  [{ nodeId: "" }, /nodeId/],
  [{ fire: "fire" }, /fire: must be a function/],
  [{ interval: "5s" }, /interval: is no option of a sweeper; the options are store, fire, nodeId/],
  [
    { leaderElection: { lease: "10s", renew: "10s" } },
    /leaderElection.renew: must be from 1 ms to less than the lease/,
  ],
  [{ leaderElection: { lease: "10s", renew: "11s" } }, /leaderElection.renew/],
  [{ leaderElection: { lease: 0 } }, /leaderElection.lease/],
  [{ leaderElection: { key: "" } }, /leaderElection.key/],
  [{ leaderElection: {}, store: { ...store, claims: undefined } }, /leaderElection.claims: .*storeClaims/],
];

describe("refused, with what to do instead", () => {
  for (const [options, message] of REFUSED) {
    test(JSON.stringify(options), () => {
      expect(make(options)).toThrow(InvalidInput);
      expect(make(options)).toThrow(message);
    });
  }
});

test("accepted are the bounds, and election through any claims", () => {
  for (const options of [{ jitterFactor: 0 }, { jitterFactor: 1 }, { batchSize: 1 }, { claimDuration: 10 }]) {
    expect(make(options)).not.toThrow();
  }
  const elsewhere = { ...store, claims: undefined };
  expect(make({ store: elsewhere, leaderElection: { claims: new FakeClaims() } })).not.toThrow();
  expect(make({ leaderElection: { lease: "30s", renew: "10s" } })).not.toThrow();
});

describe("the pause", () => {
  const chance = [0, 0.5, 0.999_999];
  const idle = { found: 0, nextInMs: null };
  const busy = { found: 3, nextInMs: null };

  test("is the interval plus a random part of it, never less", () => {
    const times = { sweepIntervalMs: 5_000, jitterFactor: 0.2, backoffOnEmptyMs: 0 };
    expect(chance.map((c) => Math.round(pauseMs(times, busy, () => c)))).toEqual([5_000, 5_500, 6_000]);
    expect(pauseMs({ ...times, jitterFactor: 0 }, busy, () => 0.9)).toBe(5_000);
    expect(pauseMs({ ...times, jitterFactor: 1 }, busy, () => 0.5)).toBe(7_500);
  });

  test("is longer by the back-off when nothing was due, and only then", () => {
    const times = { sweepIntervalMs: 5_000, jitterFactor: 0.2, backoffOnEmptyMs: 10_000 };
    expect(pauseMs(times, idle, () => 0)).toBe(15_000);
    expect(pauseMs(times, busy, () => 0)).toBe(5_000);
  });

  test("ends at the next known deadline, whatever else is set", () => {
    const times = { sweepIntervalMs: 5_000, jitterFactor: 1, backoffOnEmptyMs: 60_000 };
    expect(pauseMs(times, { found: 0, nextInMs: 1_234 }, () => 0.9)).toBe(1_234);
    expect(pauseMs(times, { found: 0, nextInMs: 3_600_000 }, () => 0)).toBe(65_000);
    expect(pauseMs(times, { found: 0, nextInMs: 1 }, () => 0)).toBe(10);
  });
});

test("a failing timeout backs off for 1 s, then twice as long each time, up to 5 min", () => {
  const longest = (attempts: number) => putOffMs(attempts, () => 0);
  expect([1, 2, 3, 9, 10, 1_000].map(longest)).toEqual([1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
  expect(putOffMs(1, () => 0.999_999)).toBe(800);
});

// Settings: defaults that follow the given ones, all impossible ones in one error, a warning for each unwise one.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidInput } from "../../src/kernel/error.js";
import type { SettingOptions } from "../../src/kernel/setting/setting-options.js";
import { InvalidSettings, resolveSettings } from "../../src/kernel/setting/settings.js";

const problemsOf = (options: unknown): readonly string[] => {
  try {
    resolveSettings(options as SettingOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidSettings);
    return (error as InvalidSettings).problems;
  }
  return expect.fail("nothing was thrown");
};

describe("defaults", () => {
  it("are as documented, without a warning", () => {
    expect(resolveSettings()).toEqual({
      settings: {
        concurrency: 10,
        prefetch: 0,
        leaseMs: 15_000,
        renewEveryMs: 5000,
        housekeepingMs: 1000,
        presenceGraceMs: 1000,
        shutdownGraceMs: 30_000,
        crashLimit: 5,
        pollIntervalMs: 1000,
        pollMaxMs: 5000,
        historyWarning: 10_000,
        historyLimit: 50_000,
      },
      warnings: [],
    });
  });

  it.each<[SettingOptions, object]>([
    [{ lease: "30s" }, { leaseMs: 30_000, renewEveryMs: 10_000 }],
    [{ lease: "3s" }, { renewEveryMs: 1000, pollMaxMs: 3000 }],
    [
      { lease: "15s", renewEvery: "5s", housekeeping: 14_999 },
      { renewEveryMs: 5000, housekeepingMs: 14_999 },
    ],
    [{ pollInterval: "8s" }, { pollIntervalMs: 8000, pollMaxMs: 8000 }],
    [{ pollMax: "500ms" }, { pollIntervalMs: 500, pollMaxMs: 500 }],
    [
      { concurrency: 2, prefetch: 2, crashLimit: 3 },
      { concurrency: 2, prefetch: 2, crashLimit: 3 },
    ],
  ])("follow %j without a warning", (options, expected) => {
    const { settings, warnings } = resolveSettings(options);
    expect(settings).toMatchObject(expected);
    expect(warnings).toEqual([]);
  });

  it("hold where an option is undefined", () => {
    expect(resolveSettings({ lease: undefined } as unknown as SettingOptions)).toEqual(resolveSettings());
  });
});

describe("impossible settings", () => {
  it.each<[object, RegExp]>([
    [{ concurrency: 0 }, /^concurrency must be from 1 to 10000; it is 0$/],
    [{ concurrency: 2.5 }, /^concurrency must be a whole number; it is 2.5$/],
    [{ concurrency: "10" }, /^concurrency must be a whole number; it is a string$/],
    [{ concurrency: Number.NaN }, /^concurrency must be a whole number/],
    [{ crashLimit: 0 }, /^crashLimit must be from 1/],
    [{ prefetch: -1 }, /^prefetch must be from 0/],
    [{ lease: 0 }, /^lease must be from 10ms to 36525d; it is 0ms$/],
    [{ lease: -1 }, /^lease: .*not negative/],
    [{ lease: "15 s" }, /^lease: a duration is/],
    [{ lease: 1.5 }, /^lease: .*fraction/],
    [{ lease: null }, /^lease: .*it is null/],
    [{ lease: Number.POSITIVE_INFINITY }, /^lease: .*limit/],
    [{ housekeeping: 0 }, /^housekeeping must be from 10ms/],
    [{ housekeeping: -5 }, /^housekeeping: .*not negative/],
    [{ renewEvery: "-1s" }, /^renewEvery: /],
    [{ renewEvery: 0 }, /^renewEvery must be from 1ms/],
    [{ presenceGrace: "-1s" }, /^presenceGrace: /],
    [{ shutdownGrace: Number.NaN }, /^shutdownGrace: /],
    [{ pollInterval: 1 }, /^pollInterval must be/],
    [{ leaseMs: 5 }, /^leaseMs is not a setting; the settings are concurrency, /],
    [JSON.parse('{"__proto__":5}'), /^__proto__ is not a setting/],
    [{ constructor: 5 }, /^constructor is not a setting/],
    [{ lease: "5s", renewEvery: "5s" }, /^renewEvery is 5s, lease is 5s: .*before its first renewal.*1.7s/],
    [{ renewEvery: "1m" }, /^renewEvery is 1m, lease is 15s/],
    [{ pollMax: "1s", pollInterval: "2s" }, /^pollMax is 1s, pollInterval is 2s: .*raise pollMax/],
    [{ prefetch: 11 }, /^prefetch is 11, concurrency is 10: .*lower prefetch/],
  ])("%j: names the setting, its value and the fix", (options, problem) => {
    const problems = problemsOf(options);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it("are all listed at once", () => {
    const options = { concurrency: 0, lease: "x", renewEvery: "1m", pollMax: "1s", pollInterval: "2s", prefech: 1 };
    const problems = problemsOf(options);
    expect(problems.map((problem) => problem.split(/[ :]/, 1)[0])).toEqual([
      "concurrency",
      "lease",
      "prefech",
      "pollMax",
    ]);
    expect(() => resolveSettings(options as unknown as SettingOptions)).toThrow(
      /^4 settings are invalid:\n- concurrency/,
    );
  });

  it.each([null, 5, "fast"])("%j is no settings object", (options) => {
    expect(() => resolveSettings(options as unknown as SettingOptions)).toThrow(InvalidInput);
  });
});

describe("unwise settings", () => {
  it.each<[SettingOptions, RegExp]>([
    [{ renewEvery: "6s" }, /^lease is 15s, renewEvery is 6s: .*set renewEvery to 5s or less/],
    [{ lease: "1.9s", presenceGrace: "1s" }, /^lease is 1.9s: .*use 2s or more/],
    [{ lease: "6m" }, /^lease is 6m: .*use 5m or less/],
    [{ housekeeping: "16s" }, /^housekeeping is 16s, lease is 15s: .*set housekeeping to 1s/],
    [{ housekeeping: "15s" }, /^housekeeping is 15s, lease is 15s: .*set housekeeping to 1s/],
    [{ lease: "15s", renewEvery: 5600 }, /^lease is 15s, renewEvery is 5.6s: .*set renewEvery to 5s or less/],
    [{ presenceGrace: "16s" }, /^presenceGrace is 16s, lease is 15s/],
    [{ presenceGrace: 0 }, /^presenceGrace is 0ms: .*use 1s/],
    [{ pollMax: "20s" }, /^pollMax is 20s, lease is 15s: .*lower pollMax/],
    [{ housekeeping: "50ms" }, /^housekeeping is 50ms, pollMax is 5s: an idle node sends 20 queries per second/],
    [{ crashLimit: 1 }, /^crashLimit is 1: .*use 3 or more/],
  ])("%j: work, with a warning that names the fix", (options, warning) => {
    const { warnings } = resolveSettings(options);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(warning);
  });

  it("give one warning each", () => {
    expect(resolveSettings({ renewEvery: "6s", crashLimit: 1 }).warnings).toHaveLength(2);
  });
});

it("settings that pass keep every relation the engine relies on", () => {
  const ms = fc.option(fc.nat(60_000), { nil: undefined });
  const count = fc.option(fc.nat(20), { nil: undefined });
  // biome-ignore format: a table
  const options = fc.record({
    concurrency: count, prefetch: count, crashLimit: count, lease: ms, renewEvery: ms, housekeeping: ms, presenceGrace: ms,
    shutdownGrace: ms, pollInterval: ms, pollMax: ms,
  });
  fc.assert(
    fc.property(options, (given) => {
      try {
        const { settings: s } = resolveSettings(given as SettingOptions);
        expect(Object.values(s).every(Number.isInteger)).toBe(true);
        expect(s.renewEveryMs).toBeGreaterThan(0);
        expect(s.renewEveryMs).toBeLessThan(s.leaseMs);
        expect(s.pollIntervalMs).toBeLessThanOrEqual(s.pollMaxMs);
        expect(s.prefetch).toBeLessThanOrEqual(s.concurrency);
      } catch (error) {
        if (!(error instanceof InvalidSettings)) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});

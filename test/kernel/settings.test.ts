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
        prefetch: null,
        leaseMs: 15_000,
        renewEveryMs: 5000,
        housekeepingMs: 1000,
        presenceGraceMs: 1000,
        shutdownGraceMs: 30_000,
        crashLimit: 5,
        pollIntervalMs: 1000,
        pollMaxMs: 5000,
        timerClaimMs: 5000,
        historyWarning: 10_000,
        historyLimit: 50_000,
      },
      warnings: [],
    });
  });

  it.each<[SettingOptions, object]>([
    [{ timing: { lease: "30s" } }, { leaseMs: 30_000, renewEveryMs: 10_000 }],
    [{ timing: { lease: "3s" } }, { renewEveryMs: 1000, pollMaxMs: 3000 }],
    [
      { timing: { lease: "15s", renewEvery: "5s", housekeeping: 14_999 } },
      { renewEveryMs: 5000, housekeepingMs: 14_999 },
    ],
    [{ timing: { pollInterval: "8s" } }, { pollIntervalMs: 8000, pollMaxMs: 8000 }],
    [{ timing: { pollMax: "500ms" } }, { pollIntervalMs: 500, pollMaxMs: 500 }],
    [
      { concurrency: 2, flow: { prefetch: 2 }, recovery: { crashLimit: 3 } },
      { concurrency: 2, prefetch: 2, crashLimit: 3 },
    ],
  ])("follow %j without a warning", (options, expected) => {
    const { settings, warnings } = resolveSettings(options);
    expect(settings).toMatchObject(expected);
    expect(warnings).toEqual([]);
  });

  it("hold where an option is undefined", () => {
    const options = { timing: { lease: undefined }, flow: undefined };
    expect(resolveSettings(options as unknown as SettingOptions)).toEqual(resolveSettings());
  });
});

describe("impossible settings", () => {
  it.each<[object, RegExp]>([
    [{ concurrency: 0 }, /^concurrency must be from 1 to 10000; it is 0$/],
    [{ concurrency: 2.5 }, /^concurrency must be a whole number; it is 2.5$/],
    [{ concurrency: "10" }, /^concurrency must be a whole number; it is a string$/],
    [{ concurrency: Number.NaN }, /^concurrency must be a whole number/],
    [{ recovery: { crashLimit: 0 } }, /^recovery\.crashLimit must be from 1/],
    [{ flow: { prefetch: -1 } }, /^flow\.prefetch must be from 0/],
    [{ timing: { lease: 0 } }, /^timing\.lease must be from 10ms to 36525d; it is 0ms$/],
    [{ timing: { lease: -1 } }, /^timing\.lease: .*not negative/],
    [{ timing: { lease: "15 s" } }, /^timing\.lease: a duration is/],
    [{ timing: { lease: 1.5 } }, /^timing\.lease: .*fraction/],
    [{ timing: { lease: null } }, /^timing\.lease: .*it is null/],
    [{ timing: { lease: Number.POSITIVE_INFINITY } }, /^timing\.lease: .*limit/],
    [{ timing: { housekeeping: 0 } }, /^timing\.housekeeping must be from 10ms/],
    [{ timing: { housekeeping: -5 } }, /^timing\.housekeeping: .*not negative/],
    [{ timing: { renewEvery: "-1s" } }, /^timing\.renewEvery: /],
    [{ timing: { renewEvery: 0 } }, /^timing\.renewEvery must be from 1ms/],
    [{ timing: { presenceGrace: "-1s" } }, /^timing\.presenceGrace: /],
    [{ timing: { shutdownGrace: Number.NaN } }, /^timing\.shutdownGrace: /],
    [{ timing: { pollInterval: 1 } }, /^timing\.pollInterval must be/],
    [{ leaseMs: 5 }, /^leaseMs is not an option; the options are concurrency, flow, timing, recovery$/],
    [{ lease: 5 }, /^lease is not an option; write timing\.lease$/],
    [{ timing: { leaseMs: 5 } }, /^timing\.leaseMs is not an option; the options of timing are lease, renewEvery, /],
    [{ recovery: { lease: 5 } }, /^recovery\.lease is not an option; the options of recovery are crashLimit, /],
    [{ timing: 5 }, /^timing must be an object; its options are lease, /],
    [{ timing: null }, /^timing must be an object/],
    [JSON.parse('{"__proto__":5}'), /^__proto__ is not an option/],
    [{ constructor: 5 }, /^constructor is not an option/],
    [{ timing: JSON.parse('{"__proto__":5}') }, /^timing\.__proto__ is not an option/],
    [
      { timing: { lease: "5s", renewEvery: "5s" } },
      /^timing\.renewEvery is 5s, timing\.lease is 5s: .*before its first renewal.*1.7s/,
    ],
    [{ timing: { renewEvery: "1m" } }, /^timing\.renewEvery is 1m, timing\.lease is 15s/],
    [
      { timing: { pollMax: "1s", pollInterval: "2s" } },
      /^timing\.pollMax is 1s, timing\.pollInterval is 2s: .*raise pollMax/,
    ],
    [{ flow: { prefetch: 11 } }, /^flow\.prefetch is 11, concurrency is 10: .*lower prefetch/],
  ])("%j: names the setting, its value and the fix", (options, problem) => {
    const problems = problemsOf(options);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it("are all listed at once", () => {
    const timing = { lease: "x", renewEvery: "1m", pollMax: "1s", pollInterval: "2s" };
    const options = { concurrency: 0, timing, flow: { prefech: 1 } };
    const problems = problemsOf(options);
    expect(problems.map((problem) => problem.split(/[ :]/, 1)[0])).toEqual([
      "flow.prefech",
      "concurrency",
      "timing.lease",
      "timing.pollMax",
    ]);
    expect(() => resolveSettings(options as unknown as SettingOptions)).toThrow(
      /^4 settings are invalid:\n- flow\.prefech/,
    );
  });

  it.each([null, 5, "fast"])("%j is no settings object", (options) => {
    expect(() => resolveSettings(options as unknown as SettingOptions)).toThrow(InvalidInput);
  });
});

describe("unwise settings", () => {
  it.each<[SettingOptions, RegExp]>([
    [
      { timing: { renewEvery: "6s" } },
      /^timing\.lease is 15s, timing\.renewEvery is 6s: .*set renewEvery to 5s or less/,
    ],
    [{ timing: { lease: "1.9s", presenceGrace: "1s" } }, /^timing\.lease is 1.9s: .*use 2s or more/],
    [{ timing: { lease: "6m" } }, /^timing\.lease is 6m: .*use 5m or less/],
    [
      { timing: { housekeeping: "16s" } },
      /^timing\.housekeeping is 16s, timing\.lease is 15s: .*set housekeeping to 1s/,
    ],
    [
      { timing: { housekeeping: "15s" } },
      /^timing\.housekeeping is 15s, timing\.lease is 15s: .*set housekeeping to 1s/,
    ],
    [
      { timing: { lease: "15s", renewEvery: 5600 } },
      /^timing\.lease is 15s, timing\.renewEvery is 5.6s: .*set renewEvery to 5s or less/,
    ],
    [{ timing: { presenceGrace: "16s" } }, /^timing\.presenceGrace is 16s, timing\.lease is 15s/],
    [{ timing: { presenceGrace: 0 } }, /^timing\.presenceGrace is 0ms: .*use 1s/],
    [{ timing: { pollMax: "20s" } }, /^timing\.pollMax is 20s, timing\.lease is 15s: .*lower pollMax/],
    [
      { timing: { housekeeping: "50ms" } },
      /^timing\.housekeeping is 50ms, timing\.pollMax is 5s: an idle node sends 20 queries per second/,
    ],
    [{ recovery: { crashLimit: 1 } }, /^recovery\.crashLimit is 1: .*use 3 or more/],
  ])("%j: work, with a warning that names the fix", (options, warning) => {
    const { warnings } = resolveSettings(options);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(warning);
  });

  it("give one warning each", () => {
    expect(resolveSettings({ timing: { renewEvery: "6s" }, recovery: { crashLimit: 1 } }).warnings).toHaveLength(2);
  });
});

it("settings that pass keep every relation the engine relies on", () => {
  const ms = fc.option(fc.nat(60_000), { nil: undefined });
  const count = fc.option(fc.nat(20), { nil: undefined });
  // biome-ignore format: a table
  const timing = fc.record({
    lease: ms, renewEvery: ms, housekeeping: ms, presenceGrace: ms, shutdownGrace: ms, pollInterval: ms, pollMax: ms,
  });
  const [flow, recovery] = [fc.record({ prefetch: count }), fc.record({ crashLimit: count })];
  const options = fc.record({ concurrency: count, flow, timing, recovery });
  fc.assert(
    fc.property(options, (given) => {
      try {
        const { settings: s } = resolveSettings(given as SettingOptions);
        const { prefetch, ...numbers } = s;
        expect(Object.values(numbers).every(Number.isInteger)).toBe(true);
        expect(s.renewEveryMs).toBeGreaterThan(0);
        expect(s.renewEveryMs).toBeLessThan(s.leaseMs);
        expect(s.pollIntervalMs).toBeLessThanOrEqual(s.pollMaxMs);
        expect(prefetch ?? 0).toBeLessThanOrEqual(s.concurrency);
      } catch (error) {
        if (!(error instanceof InvalidSettings)) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});

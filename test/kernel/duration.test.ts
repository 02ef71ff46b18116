// Durations: what is accepted, what is refused and how they are shown.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Duration, formatDuration, MAX_DURATION_MS, toMs } from "../../src/kernel/duration.js";
import { InvalidInput, LimitExceeded } from "../../src/kernel/error.js";

describe("toMs", () => {
  it.each<[Duration, number]>([
    [0, 0],
    [-0, 0],
    [500, 500],
    ["0s", 0],
    ["500ms", 500],
    ["90s", 90_000],
    ["1.5s", 1500],
    ["1.005s", 1005],
    ["0.001s", 1],
    ["1.10m", 66_000],
    ["2h", 7_200_000],
    ["3d", 259_200_000],
    ["36525d", MAX_DURATION_MS],
    ["007s" as Duration, 7000],
  ])("reads %j as %d ms", (duration, ms) => {
    expect(Object.is(toMs(duration, "delay"), ms)).toBe(true);
  });

  // biome-ignore format: a table
  it.each([
    Number.NaN, -1, -0.5, 1.5, Number.NEGATIVE_INFINITY, "", " ", "5", "s", "-5s", "+5s", "5 s", " 5s", "5s ", "5S", "5sec", "5w",
    "1e3s", "0x10s", ".5s", "5.s", "1.5ms", "0.0001s", "1,5s", "Infinitys", "NaNms", "5s\n", "٣s", "1".repeat(50),
    null, undefined, {}, [[]], true, 5n, new Date(0),
  ])("refuses %o with the path and the accepted forms", (duration) => {
    expect(() => toMs(duration as Duration, "sleep.for")).toThrow(InvalidInput);
    expect(() => toMs(duration as Duration, "sleep.for")).toThrow(/^sleep\.for: .*"90s"/);
  });

  it.each([Number.POSITIVE_INFINITY, MAX_DURATION_MS + 1, Number.MAX_VALUE, "36526d", "999999999999999d"])(
    "refuses %j as longer than 100 years",
    (duration) => expect(() => toMs(duration as Duration, "delay")).toThrow(LimitExceeded),
  );

  it("is exact for every decimal with up to three places", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000_000 }), (ms) => {
        expect(toMs(`${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, "0")}s` as Duration, "d")).toBe(ms);
      }),
    );
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0ms"],
    [0.4, "0ms"],
    [250, "250ms"],
    [999.6, "1s"],
    [1000, "1s"],
    [1500, "1.5s"],
    [59_949, "59.9s"],
    [59_950, "1m"],
    [90_000, "1m 30s"],
    [3_599_499, "59m 59s"],
    [3_599_500, "1h"],
    [5_400_000, "1h 30m"],
    [86_369_999, "23h 59m"],
    [86_370_000, "1d"],
    [273_600_000, "3d 4h"],
    [MAX_DURATION_MS, "36525d"],
    [-1500, "-1.5s"],
    [Number.POSITIVE_INFINITY, "Infinity"],
  ])("shows %d ms as %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

  it("is never off by more than a twentieth", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_DURATION_MS }), (ms) => {
        const parts = formatDuration(ms).split(" ") as Duration[];
        const shown = parts.reduce<number>((sum, part) => sum + toMs(part, "part"), 0);
        expect(Math.abs(shown - ms)).toBeLessThanOrEqual(ms / 20);
      }),
    );
  });
});

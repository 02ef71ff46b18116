// When schedules are due: clocks that change, impossible lines, intervals that keep their anchor.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cronWindows, intervalWindows, type Windows } from "../../src/trigger/windows.js";
import { CLOCK_CHANGES } from "./clock-changes.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function list(windows: Windows, from: string, count: number): string[] {
  const found: string[] = [];
  for (let at = windows.next(Date.parse(from)); at !== null && found.length < count; at = windows.next(at))
    found.push(new Date(at).toISOString().replace(":00.000Z", "Z"));
  return found;
}

describe("clocks that change: one window per slot", () => {
  for (const [name, line, zone, from, expected] of CLOCK_CHANGES) {
    test(name, () => {
      expect(list(cronWindows(line, zone), from, expected.length)).toEqual(expected);
    });
  }
});

describe("cron lines", () => {
  test("seconds are first when there are six fields", () => {
    const at = cronWindows("*/20 * * * * *", "UTC").next(Date.parse("2026-01-01T00:00:05Z"));
    expect(new Date(at!).toISOString()).toBe("2026-01-01T00:00:20.000Z");
  });

  test("lines that are never due, or are invalid, are rejected at once", () => {
    for (const line of ["0 0 30 2 *", "*/0 * * * *", "61 * * * *", "* * *", "a b c d e", "", "* * * * * * 1999"])
      expect(() => cronWindows(line, "UTC"), line).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    expect(() => cronWindows("* * * * *", "Mars/Olympus")).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    expect(() => cronWindows(`0 ${"0,".repeat(200)}0 * * *`, "UTC")).toThrow("200 characters");
  });

  test("a line that is due once in four years is found", () => {
    expect(list(cronWindows("0 0 29 2 *", "UTC"), "2026-01-01T00:00:00Z", 2)).toEqual([
      "2028-02-29T00:00Z",
      "2032-02-29T00:00Z",
    ]);
  });
});

test("the latest window is the last of all windows up to now, for any schedule", () => {
  const lines = ["* * * * *", "*/7 3-5 * * *", "30 2 * * *", "0 0 1 * *"];
  const zones = ["Europe/Berlin", "Australia/Lord_Howe", "UTC"];
  const start = Date.parse("2026-03-27T00:00:00Z");
  fc.assert(
    fc.property(
      fc.constantFrom(...lines),
      fc.constantFrom(...zones),
      fc.integer({ min: 0, max: 4 * 24 * HOUR }),
      fc.integer({ min: 0, max: 6 * HOUR }),
      (line, zone, offset, span) => {
        const windows = cronWindows(line, zone);
        const [since, now] = [start + offset, start + offset + span];
        let last: number | null = null;
        for (let at = windows.next(since - 1); at !== null && at <= now; at = windows.next(at)) last = at;
        expect(windows.latest(since, now)).toBe(last);
      },
    ),
    { numRuns: 150 },
  );
});

test("an interval keeps its anchor, whenever and by whichever node it is computed", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: HOUR }),
      fc.integer({ min: 0, max: 1e9 }),
      fc.integer({ min: 0, max: 1e9 }),
      (every, anchor, after) => {
        const windows = intervalWindows(every, anchor);
        const next = windows.next(after);
        expect(next).toBeGreaterThan(Math.min(after, anchor - 1));
        expect((next! - anchor) % every).toBe(0);
        expect(next! - Math.max(after, anchor - 1)).toBeLessThanOrEqual(every);
        const latest = windows.latest(anchor, after);
        if (after < anchor) expect(latest).toBeNull();
        else expect(windows.next(latest!)).toBeGreaterThan(after);
      },
    ),
  );
});
